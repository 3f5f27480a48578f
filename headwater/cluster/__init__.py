"""The cluster process: one Spark driver that ingests, backfills, folds and answers large reads.

    server        the socket: commands in, responses out; converges to what was stated
    shared        what all parts share: the ledger, the executors, the way out

    ingestion     one source's loop: probe, mint, read, commit, report, acknowledge
    standing members counters   where it stands, its tables, what was done

    backfills     the new tables of a source; each batch of them has one
    backfill      one of these, beside the ticks
    snapshots     its chunks, read as tasks
    donors widening difference  tables that are copied, that get more columns, that are read again

    maintenance   folds (fold), forgetting, sweeping
    claims        files that are being made, which no sweep takes
    read results  queries on Spark, and how their rows leave it
    verify compare              VERIFY TABLE

    jobs          how work gets to the executors
    tasks         what runs there: plain functions of picklable values
    ahead origins what some of these need: reading ahead, where values came from

    spark         the one place a SparkSession is built
    workers classes kernels_spark   what its processes have when they begin

Only this package imports pyspark.  It holds no SQL text of users' DDL and no
catalog: it knows sources, exports and collections by id.
"""
