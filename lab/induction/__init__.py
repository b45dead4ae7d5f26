"""The proof by induction: `make prove`. The page is docs/proof.md.

Read in this order:

    axioms      the assumptions about AWS and the code, with their sources
    state       the tables, and the local state of workers and operators
    steps       the possible steps; a guard reads only values that the code reads
    invariant   the invariant, and the promises that follow from it
    rules       known-bad rules, each with a path to the promise that it breaks
    domain      the two modes: any number of everything, or a small domain
    proving     obligations and paths, decided by Z3
    width       that no step asks for more than a promise needs: `make width`
"""
