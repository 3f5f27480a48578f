"""The cluster process: one Spark driver that ingests, backfills, folds and answers large reads.

    server        the socket: commands in, responses out; converges to what was stated
    ingestion     one source's loop: probe, mint, read, commit, report, acknowledge
    backfill      snapshots of new tables beside the ticks
    maintenance   folds, forgetting, sweeping
    claims        files that are being made, which no sweep takes
    read          queries on Spark
    jobs          how work gets to the executors
    tasks         what runs there: plain functions of picklable values
    spark         the one place a SparkSession is built

Only this package imports pyspark.  It holds no SQL text of users' DDL and no
catalog: it knows sources, exports and collections by id.
"""
