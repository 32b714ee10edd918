/* page.S - the files of web/static, as they are, inside the program. page.c lists them. */
    .macro file name, path
    .globl web_file_\name
    .globl web_file_\name\()_end
web_file_\name:
    .incbin "\path"
web_file_\name\()_end:
    .byte 0
    .endm

    .section .rodata
    file index_html, "web/static/index.html"
    file style_css, "web/static/style.css"
    file study_css, "web/static/study.css"
    file board_css, "web/static/board.css"
    file new_css, "web/static/new.css"
    file icon_svg, "web/static/icon.svg"
    file app_js, "web/static/app.js"
    file api_js, "web/static/api.js"
    file dom_js, "web/static/dom.js"
    file format_js, "web/static/format.js"
    file studies_js, "web/static/studies.js"
    file study_js, "web/static/study.js"
    file board_js, "web/static/board.js"
    file pipeline_js, "web/static/pipeline.js"
    file filter_js, "web/static/filter.js"
    file chart_js, "web/static/chart.js"
    file scale_js, "web/static/scale.js"
    file metrics_js, "web/static/metrics.js"
    file search_js, "web/static/search.js"
    file new_js, "web/static/new.js"
    file importance_js, "web/static/importance.js"
    file pareto_js, "web/static/pareto.js"
    file curve_js, "web/static/curve.js"
    file epochs_js, "web/static/epochs.js"
    file output_js, "web/static/output.js"
    file columns_js, "web/static/columns.js"
    file budget_js, "web/static/budget.js"
    file cells_js, "web/static/cells.js"
    file chips_js, "web/static/chips.js"
    file detail_js, "web/static/detail.js"
    file feed_js, "web/static/feed.js"
    file hold_js, "web/static/hold.js"
    file order_js, "web/static/order.js"
    file trials_js, "web/static/trials.js"
    file why_js, "web/static/why.js"
    file where_js, "web/static/where.js"
    file tables_js, "web/static/tables.js"
    file signin_js, "web/static/signin.js"

    .section .note.GNU-stack, "", %progbits
