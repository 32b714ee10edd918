"""All tables of the bench."""
import tables_cells  # noqa: F401
import tables_codes  # noqa: F401
import tables_targets  # noqa: F401
import tables_text  # noqa: F401
import tables_time  # noqa: F401
from table import TABLES  # noqa: F401
