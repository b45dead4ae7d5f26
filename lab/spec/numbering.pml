/* How workers number one project's tickets, beside a seed and an import: docs/proof.md in Promela.
   `make spec` tries every interleaving; README.md gives its scope, and how to read it. */

#ifndef WORKERS
#define WORKERS 2              /* calls in flight at once, whether their callers live or not */
#define KEYS 2
#endif
#ifndef DELIVERIES
#define DELIVERIES 4           /* of messages, in all */
#endif
#ifndef SEED
#define SEED 0                 /* the numbers up to it were used elsewhere; 0: no seed */
#endif

/* Algorithms known to be wrong: -DWRONG=BUMP_ON_CONFLICT and so on. */
#define BUMP_ON_CONFLICT 1     /* a conflict counts as a number taken */
#define BUMP_BY_LENGTH 2       /* a collision moves the block by its length */
#define CACHE_TRIED 3          /* the sequence cache learns from a block that was only tried */
#define SEED_WITHOUT_B 4       /* the seed leaves out its second put */
#define COUNT_RESERVED 5       /* a reserved number counts as one taken by a worker */
#define COUNT_IMPORTED 6       /* an imported ticket's number likewise */
#define KEY_UNCONDITIONAL 7    /* a key is put even if it is there */
#define KEY_LEFT_OUT 8         /* the key of a block's second ticket is checked, and not put */
#define IMPORT_OVERWRITES 9    /* an import puts its ticket over a worker's */
#define IMPORT_TAKES_KEY 10    /* an import puts its key even if it is there */
#ifndef WRONG
#define WRONG 0
#endif

#define TOP (SEED + KEYS + 2)  /* no worker tries a higher number */
#define KEY(k) (TOP + k)       /* the keys' items lie behind the numbers' */
#define RESERVED 100           /* at a number: it was used elsewhere */
#define IMPORTED 101           /* at a number: a ticket from elsewhere */

mtype = { FREE, CONFLICT, TAKEN, ELSEWHERE };
byte item[TOP + KEYS + 1];     /* committed: at a number its key, at a key its number; 0: nothing */
bool held[TOP + KEYS + 1];     /* by a transaction: other writes conflict, and no query sees the item */
byte deliveries = DELIVERIES;
byte keys;                     /* that have come */
bool seeded;                   /* the seed is done */
byte given[KEYS + 1];          /* ghost, which no process reads: the number that each key got */

#define is_ticket(n) (item[n] && item[n] <= KEYS)
#define is_given(n) (given[1] == n || given[2] == n || given[KEYS] == n)
#define may_put(x) (!item[x] || (WRONG == KEY_UNCONDITIONAL && x > TOP))
#define may_import(n) (item[n] != IMPORTED && (!is_ticket(n) || WRONG == IMPORT_OVERWRITES))
#define may_import_key(k) (!item[KEY(k)] || WRONG == IMPORT_TAKES_KEY)
#define is_elsewhere(x) ((item[x] == RESERVED && WRONG != COUNT_RESERVED) || \
                         (item[x] == IMPORTED && WRONG != COUNT_IMPORTED))
#define is_taken(t) (t == TAKEN || (t == CONFLICT && WRONG == BUMP_ON_CONFLICT))
#define has(reason) (t1 == reason || k1 == reason || t2 == reason || k2 == reason)

inline give(n, k) {
    assert(!given[k]);                                                    /* one number a key */
    given[k] = n
}

inline commit(n, k) {
    assert(n == 1 || is_ticket(n - 1) || (n == SEED + 1 && item[SEED]));  /* a number follows its predecessor */
    assert(!item[n]);                                                     /* one key a number */
    assert(!seeded || n > SEED);                                          /* no number in a finished seed's gap */
    give(n, k);
    item[n] = k;
    item[KEY(k)] = (k == b && WRONG == KEY_LEFT_OUT -> 0 : n)
}

inline query(below, n) {       /* the highest number below; 0: there is none */
    d_step { n = below - 1; do :: n && (!item[n] || held[n]) -> n-- :: else -> break od }
}

inline receive(k) {            /* A new message, or one again. Keys are alike: a new one gets the next name. */
    deliveries--;
    select(k : 1 .. KEYS);
    k = (k > keys + 1 -> keys + 1 : k);
    keys = (k > keys -> k : keys)
}

inline prepare(x, reason) {    /* An item is prepared at once, a transaction is not. */
    reason = (held[x] -> CONFLICT : (may_put(x) -> FREE : (is_elsewhere(x) -> ELSEWHERE : TAKEN)));
    held[x] = held[x] || reason == FREE
}

inline release(x, reason) {
    held[x] = held[x] && reason != FREE
}

inline learn() {               /* A cancelled block: which number is next, and which keys are replays? */
    if
    :: has(CONFLICT) && WRONG != BUMP_ON_CONFLICT -> next = 0  /* another one tries: nothing is known */
    :: has(ELSEWHERE) -> next = 0                              /* a seed was here */
    :: else ->
       if
       :: is_taken(t1) && b && !is_taken(t2) -> next = next + (WRONG == BUMP_BY_LENGTH -> 2 : 1)
       :: is_taken(t1) && !b -> next = 0                       /* taken as a whole */
       :: is_taken(t1) && is_taken(t2) -> next = 0
       :: !is_taken(t1) && is_taken(t2) -> next = 0            /* taken, but where does it begin? */
       :: !is_taken(t1) && !is_taken(t2)                       /* only keys were there */
       fi
    fi;
    if :: k2 == TAKEN -> b = 0 :: else fi;
    if :: k1 == TAKEN -> a = b; b = 0 :: else fi
}

active [WORKERS] proctype Worker() {
    byte a, b;                 /* the keys to be numbered, in this order; 0: none */
    byte next;                 /* the number to try; 0: to be read */
    mtype t1, k1, t2, k2;      /* the answers for the items of two tickets and two keys; 0: none */
    byte n, tried;
end:
    do
    :: atomic { !a && deliveries ->  /* Any message may come at any time, to any worker. */
        receive(a);
        if :: deliveries -> receive(b); b = (b == a -> 0 : b) :: skip fi;
        if
        :: skip                /* the sequence cache: none, or of any age, any worker's */
        :: select(n : 1 .. TOP - 1); next = (is_ticket(n) -> n + 1 : 0); n = 0
#if WRONG == CACHE_TRIED
        :: next = tried
#endif
        fi }
    :: a && !next -> query(TOP + 1, next); next++
    :: a && next ->
        do                     /* A transaction prepares its items in any order. */
        :: atomic { !t1 -> prepare(next, t1) }
        :: atomic { !k1 -> prepare(KEY(a), k1) }
        :: atomic { b && !t2 -> prepare(next + 1, t2) }
        :: atomic { b && !k2 -> prepare(KEY(b), k2) }
        :: atomic {            /* It is cancelled, for the refusals so far or throttled. */
            release(next, t1); release(KEY(a), k1); release(next + 1, t2); release(KEY(b), k2);
            tried = (WRONG == CACHE_TRIED -> next + 1 + (b > 0) : 0);
            if
            :: has(CONFLICT) || has(TAKEN) || has(ELSEWHERE) -> learn()
            :: next = 0        /* No reason is reported. */
            fi;
            t1 = 0; k1 = 0; t2 = 0; k2 = 0; break }
        :: d_step {            /* It is decided, for all items at once. */
            t1 == FREE && k1 == FREE && (!b || (t2 == FREE && k2 == FREE)) ->
            commit(next, a); if :: b -> commit(next + 1, b) :: else fi }
           do                  /* It is written item by item: a query can see its middle. */
           :: atomic { t1 -> release(next, t1); t1 = 0 }
           :: atomic { k1 -> release(KEY(a), k1); k1 = 0 }
           :: atomic { t2 -> release(next + 1, t2); t2 = 0 }
           :: atomic { k2 -> release(KEY(b), k2); k2 = 0 }
           :: !t1 && !k1 && !t2 && !k2 -> break
           od;
           if :: a = 0; b = 0 :: skip fi;  /* Done, or the answer is lost: it reads and tries again. */
           next = 0; break
        od
    :: d_step { a -> a = 0; b = 0; next = 0 }  /* It is killed, or out of time. */
    od
}

#if SEED
active proctype Operator() {
    byte n, key;
    atomic { !held[SEED] -> if :: !item[SEED] -> item[SEED] = RESERVED :: else -> goto end_ fi };  /* (a) */
    do
    :: query(SEED, n); n++;
       if :: n == SEED || WRONG == SEED_WITHOUT_B -> break :: else fi;
       atomic { !held[n] ->
           if :: !item[n] -> item[n] = RESERVED; if :: break :: skip fi :: else fi }  /* (b); its answer may be lost */
    od;
    seeded = true;
#ifdef IMPORT
    do                         /* Each at once: while one is prepared, others could only conflict. */
    :: atomic {
        select(n : 1 .. SEED); select(key : 1 .. KEYS);
        if
        :: !held[n] && may_import(n) ->
           assert(!is_given(n));                                          /* one key a number */
           if :: !held[KEY(key)] && may_import_key(key) -> give(n, key); item[KEY(key)] = n
              :: skip fi;                                                 /* or a key of its own */
           item[n] = IMPORTED
        :: else
        fi;
        n = 0; key = 0 }
    :: break
    od;
#endif
end_: n = 0
}
#endif
