"""The proof by induction: `make prove`. The page is docs/proof.md.

Read in this order:

    axioms      what AWS and the code are trusted to do, and where it is said
    state       the tables, and what workers and operators hold
    steps       what can happen: each guard reads only what the code reads
    invariant   what always holds, and the promises that follow
    rules       known-bad rules, each with a path to the promise that it breaks
    domain      the two modes: any number of everything, or a small domain
    proving     obligations and paths, decided by Z3
    width       that no step asks for more than a promise needs: `make width`
"""
