"""Private names of ``engines`` that tests need, each from the file it stands in."""

from maskwell.engines import (
    arrow_arrays,
    arrow_files,
    cell_counts,
    column_codes,
    column_randomizer,
    delimited,
    formula_coding,
    input_file,
    labelled,
    report_counts,
    row_batches,
    spark_frames,
)
from maskwell.engines.arrow_arrays import (
    SortedDictionary,
    bits_from_array,
    describe,
    masks_from_bits,
    texts_from_bits,
    without_traces,
)
from maskwell.engines.assignments import (
    Answers,
    Assignment,
    Samples,
    answers_in,
    direct_design,
    joint_design,
    variables_of,
)
from maskwell.engines.basket_reader import basket_columns, read_baskets
from maskwell.engines.column_codes import (
    LevelCoder,
    common_rows,
    joint_codes,
    numbered_column,
    numbers_of,
    raise_first,
    separate_codes,
)
from maskwell.engines.column_randomizer import ColumnRandomizer, Persons, randomize_file
from maskwell.engines.column_tables import TableInFile, open_table
from maskwell.engines.delimited import DelimitedSource, RecordReader, first_end, is_open, last_end
from maskwell.engines.formula import MOST_TERMS, check_columns, read_formula, read_right_side
from maskwell.engines.formula_coding import MOST_COLUMNS, Coding
from maskwell.engines.formula_functions import FUNCTIONS
from maskwell.engines.formula_references import References
from maskwell.engines.handwritten_files import read_curves, read_matrix
from maskwell.engines.input_file import TextForm, encoding_of, separator_of
from maskwell.engines.labelled import ReaderProcess
from maskwell.engines.labelled_columns import ColumnLabels, Labels, read_column, written_column
from maskwell.engines.predictor_columns import CategoryColumn, Predictors
from maskwell.engines.report_counts import tally_file, tally_groups, tally_survey
from maskwell.engines.row_batches import ShuffledRows, in_background
from maskwell.engines.row_sources import (
    BATCH_ROWS,
    ENGINES,
    KNOWN,
    ending_of,
    engine_of,
    open_sink,
    open_source,
)
from maskwell.engines.rows import MemoryRows, MemoryTable
from maskwell.engines.spark_frames import PartitionRows, SparkTable, _Randomizing
from maskwell.engines.survey_columns import PlanColumns, ReportReader, SampleReader, labels_of, population_of

__all__ = [
    "Answers",
    "Assignment",
    "BATCH_ROWS",
    "CategoryColumn",
    "Coding",
    "ColumnLabels",
    "ColumnRandomizer",
    "DelimitedSource",
    "ENGINES",
    "FUNCTIONS",
    "KNOWN",
    "Labels",
    "LevelCoder",
    "MOST_COLUMNS",
    "MOST_TERMS",
    "MemoryRows",
    "MemoryTable",
    "PartitionRows",
    "Persons",
    "PlanColumns",
    "Predictors",
    "ReaderProcess",
    "RecordReader",
    "References",
    "ReportReader",
    "SampleReader",
    "Samples",
    "ShuffledRows",
    "SortedDictionary",
    "SparkTable",
    "TableInFile",
    "TextForm",
    "_Randomizing",
    "answers_in",
    "arrow_arrays",
    "arrow_files",
    "basket_columns",
    "bits_from_array",
    "cell_counts",
    "check_columns",
    "column_codes",
    "column_randomizer",
    "common_rows",
    "delimited",
    "describe",
    "direct_design",
    "encoding_of",
    "ending_of",
    "engine_of",
    "first_end",
    "formula_coding",
    "in_background",
    "input_file",
    "is_open",
    "joint_codes",
    "joint_design",
    "labelled",
    "labels_of",
    "last_end",
    "masks_from_bits",
    "numbered_column",
    "numbers_of",
    "open_sink",
    "open_source",
    "open_table",
    "population_of",
    "raise_first",
    "randomize_file",
    "read_baskets",
    "read_column",
    "read_curves",
    "read_formula",
    "read_matrix",
    "read_right_side",
    "report_counts",
    "row_batches",
    "separate_codes",
    "separator_of",
    "spark_frames",
    "tally_file",
    "tally_groups",
    "tally_survey",
    "texts_from_bits",
    "variables_of",
    "without_traces",
    "written_column",
]
