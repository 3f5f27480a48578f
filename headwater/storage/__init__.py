"""The storage controller: the wanted world in, progress out.

    wanted       every source with its exports, every plain table      (set by the coordinator)
    supervisor   keeps one cluster process running
    controller   one connection to it: states all that is wanted after every connect,
                 hears frontiers, statuses, statistics, rows

The coordinator never speaks to a cluster by itself and never waits for one to be
there: what it wants is remembered here and is stated when the cluster can hear it.
"""
