/* migrations.S - the text of every schema step, embedded so that the program needs no file beside it.
 * One .incbin per step, NUL-terminated, in the order of store/migrate.c's table. */
#if defined(__linux__) && defined(__ELF__)
    .section .note.GNU-stack, "", %progbits
#endif
    .section .rodata
    .globl store_migration_001
store_migration_001:
    .incbin "store/migrations/001_start.sql"
    .byte 0
    .globl store_migration_002
store_migration_002:
    .incbin "store/migrations/002_sessions.sql"
    .byte 0
    .globl store_migration_003
store_migration_003:
    .incbin "store/migrations/003_loose_blobs.sql"
    .byte 0
    .globl store_migration_004
store_migration_004:
    .incbin "store/migrations/004_study_counts.sql"
    .byte 0
    .globl store_migration_005
store_migration_005:
    .incbin "store/migrations/005_no_search_state.sql"
    .byte 0
    .globl store_migration_006
store_migration_006:
    .incbin "store/migrations/006_epochs.sql"
    .byte 0
    .globl store_migration_007
store_migration_007:
    .incbin "store/migrations/007_output.sql"
    .byte 0
    .globl store_migration_008
store_migration_008:
    .incbin "store/migrations/008_pipelines.sql"
    .byte 0
    .globl store_migration_009
store_migration_009:
    .incbin "store/migrations/009_predictions.sql"
    .byte 0
