"""pg_catalog: relations that have only a shape, because nobody can make what they would list."""

from __future__ import annotations

from typing import Final

from headwater.catalog.builtin.table import BuiltinTable, empty

RELATIONS: Final[tuple[BuiltinTable, ...]] = empty(
    "pg_catalog",
    """
    pg_aggregate (421, 2600): Aggregate functions.
        aggfnoid regproc
        aggkind "char"
        aggnumdirectargs int2
        aggtransfn regproc
        aggfinalfn regproc
        aggcombinefn regproc
        aggserialfn regproc
        aggdeserialfn regproc
        aggmtransfn regproc
        aggminvtransfn regproc
        aggmfinalfn regproc
        aggfinalextra bool
        aggmfinalextra bool
        aggfinalmodify "char"
        aggmfinalmodify "char"
        aggsortop oid
        aggtranstype oid
        aggtransspace int4
        aggmtranstype oid
        aggmtransspace int4
        agginitval text?
        aggminitval text?

    pg_amop (472, 2602): Operators of operator families.
        oid oid
        amopfamily oid
        amoplefttype oid
        amoprighttype oid
        amopstrategy int2
        amoppurpose "char"
        amopopr oid
        amopmethod oid
        amopsortfamily oid

    pg_amproc (473, 2603): Support functions of operator families.
        oid oid
        amprocfamily oid
        amproclefttype oid
        amprocrighttype oid
        amprocnum int2
        amproc regproc

    pg_available_extensions (433): Extensions that could be installed.
        name name?
        default_version text?
        installed_version text?
        comment text?

    pg_cast (434, 2605): Conversions between types.
        oid oid
        castsource oid
        casttarget oid
        castfunc oid
        castcontext "char"
        castmethod "char"

    pg_conversion (435, 2607): Conversions between encodings.
        oid oid
        conname name
        connamespace oid
        conowner oid
        conforencoding int4
        contoencoding int4
        conproc regproc
        condefault bool

    pg_db_role_setting (436, 2964): Settings of roles and databases.
        setdatabase oid
        setrole oid
        setconfig text[]?

    pg_default_acl (437, 826): Privileges that new objects will have.
        oid oid
        defaclrole oid
        defaclnamespace oid
        defaclobjtype "char"
        defaclacl mz_aclitem[]

    pg_enum (438, 3501): Values of enumerated types.
        oid oid
        enumtypid oid
        enumsortorder float4
        enumlabel name

    pg_event_trigger (439, 3466): Event triggers.
        oid oid
        evtname name
        evtevent name
        evtowner oid
        evtfoid oid
        evtenabled "char"
        evttags text[]?

    pg_foreign_data_wrapper (441, 2328): Foreign-data wrappers.
        oid oid
        fdwname name
        fdwowner oid
        fdwhandler oid
        fdwvalidator oid
        fdwacl mz_aclitem[]?
        fdwoptions text[]?

    pg_foreign_server (442, 1417): Foreign servers.
        oid oid
        srvname name
        srvowner oid
        srvfdw oid
        srvtype text?
        srvversion text?
        srvacl mz_aclitem[]?
        srvoptions text[]?

    pg_foreign_table (443, 3118): Foreign tables.
        ftrelid oid
        ftserver oid
        ftoptions text[]?

    pg_group (412): Roles that have members.
        groname name?
        grosysid oid?
        grolist oid[]?

    pg_indexes (444): Indexes, with the names around them.
        schemaname name?
        tablename name?
        indexname name?
        tablespace name?
        indexdef text?

    pg_inherits (445, 2611): Which table inherits from which.
        inhrelid oid
        inhparent oid
        inhseqno int4
        inhdetachpending bool

    pg_init_privs (475, 3394): Privileges that the system began with.
        objoid oid
        classoid oid
        objsubid int4
        privtype "char"
        initprivs mz_aclitem[]

    pg_largeobject_metadata (446, 2995): Large objects.
        oid oid
        lomowner oid
        lomacl mz_aclitem[]?

    pg_matviews (448): Materialized views, with their queries.
        schemaname name?
        matviewname name?
        matviewowner name?
        tablespace name?
        hasindexes bool?
        ispopulated bool?
        definition text?

    pg_opclass (449, 2616): Operator classes.
        oid oid
        opcmethod oid
        opcname name
        opcnamespace oid
        opcowner oid
        opcfamily oid
        opcintype oid
        opcdefault bool
        opckeytype oid

    pg_opfamily (450, 2753): Operator families.
        oid oid
        opfmethod oid
        opfname name
        opfnamespace oid
        opfowner oid

    pg_parameter_acl (474, 6243): Privileges on variables.
        oid oid
        parname text
        paracl mz_aclitem[]

    pg_partitioned_table (451, 3350): Partitioned tables.
        partrelid oid
        partstrat "char"
        partnatts int2
        partdefid oid
        partattrs int2vector
        partclass oid[]
        partcollation oid[]
        partexprs text?

    pg_policies (452): Row security, with the names around it.
        schemaname name?
        tablename name?
        policyname name?
        permissive text?
        roles name[]?
        cmd text?
        qual text?
        with_check text?

    pg_policy (453, 3256): Row security.
        oid oid
        polname name
        polrelid oid
        polcmd "char"
        polpermissive bool
        polroles oid[]
        polqual text?
        polwithcheck text?

    pg_publication (454, 6104): Publications.
        oid oid
        pubname name
        pubowner oid
        puballtables bool
        pubinsert bool
        pubupdate bool
        pubdelete bool
        pubtruncate bool
        pubviaroot bool

    pg_publication_namespace (455, 6237): Schemas of publications.
        oid oid
        pnpubid oid
        pnnspid oid

    pg_publication_rel (456, 6106): Tables of publications.
        oid oid
        prpubid oid
        prrelid oid
        prqual text?
        prattrs int2vector?

    pg_publication_tables (457): Tables of publications, with their names.
        pubname name?
        schemaname name?
        tablename name?
        attnames name[]?
        rowfilter text?

    pg_replication_slots (459): Replication slots.
        slot_name name?
        plugin name?
        slot_type text?
        datoid oid?
        database name?
        temporary bool?
        active bool?
        active_pid int4?
        xmin uint4?
        catalog_xmin uint4?
        restart_lsn text?
        confirmed_flush_lsn text?
        wal_status text?
        safe_wal_size int8?
        two_phase bool?

    pg_rules (460): Rules, with the names around them.
        schemaname name?
        tablename name?
        rulename name?
        definition text?

    pg_seclabels (477): Security labels.
        objoid oid
        classoid oid
        objsubid int4
        objtype text
        objnamespace oid?
        objname text
        provider text
        label text

    pg_sequence (461, 2224): Sequences.
        seqrelid oid
        seqtypid oid
        seqstart int8
        seqincrement int8
        seqmax int8
        seqmin int8
        seqcache int8
        seqcycle bool

    pg_sequences (462): Sequences, with the names around them.
        schemaname name?
        sequencename name?
        sequenceowner name?
        data_type regtype?
        start_value int8?
        min_value int8?
        max_value int8?
        increment_by int8?
        cycle bool?
        cache_size int8?
        last_value int8?

    pg_statistic_ext (463, 3381): Extended statistics.
        oid oid
        stxrelid oid
        stxname name
        stxnamespace oid
        stxowner oid
        stxstattarget int4
        stxkeys int2vector
        stxkind "char"[]
        stxexprs text?

    pg_subscription (464, 6100): Subscriptions to publications.
        oid oid
        subdbid oid
        subskiplsn text
        subname name
        subowner oid
        subenabled bool
        subbinary bool
        substream bool
        subtwophasestate "char"
        subdisableonerr bool
        subconninfo text
        subslotname name?
        subsynccommit text
        subpublications text[]

    pg_transform (476, 3576): Transforms of types for languages.
        oid oid
        trftype oid
        trflang oid
        trffromsql regproc
        trftosql regproc

    pg_trigger (465, 2620): Triggers.
        oid oid
        tgrelid oid
        tgparentid oid
        tgname name
        tgfoid oid
        tgtype int2
        tgenabled "char"
        tgisinternal bool
        tgconstrrelid oid
        tgconstrindid oid
        tgconstraint oid
        tgdeferrable bool
        tginitdeferred bool
        tgnargs int2
        tgattr int2vector
        tgargs bytea
        tgqual text?
        tgoldtable name?
        tgnewtable name?

    pg_ts_config (466, 3602): Text search configurations.
        oid oid
        cfgname name
        cfgnamespace oid
        cfgowner oid
        cfgparser oid

    pg_ts_dict (467, 3600): Text search dictionaries.
        oid oid
        dictname name
        dictnamespace oid
        dictowner oid
        dicttemplate oid
        dictinitoption text?

    pg_ts_parser (468, 3601): Text search parsers.
        oid oid
        prsname name
        prsnamespace oid
        prsstart regproc
        prstoken regproc
        prsend regproc
        prsheadline regproc
        prslextype regproc

    pg_ts_template (469, 3764): Text search templates.
        oid oid
        tmplname name
        tmplnamespace oid
        tmplinit regproc
        tmpllexize regproc

    pg_user_mapping (470, 1418): Mappings of users to foreign servers.
        oid oid
        umuser oid
        umserver oid
        umoptions text[]?

    pg_user_mappings (471): Mappings of users to foreign servers, with names.
        umid oid
        srvid oid
        srvname name
        umuser oid
        usename name
        umoptions text[]?
    """,
)
