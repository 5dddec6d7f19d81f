# SPDX-License-Identifier: MIT
"""lacking.py - modules that a tree does not have; frozen, as stepjail_lacking

absent.c asks find_spec() for a module that nobody else has found. Of those that people know,
the error says which tree has it, or that none has, and what is there in its place: in a jail
nothing can be installed. For any other name the error is Python's own. Who only asks whether
there is such a module (importlib.util.find_spec()) hears that there is none.

reworded() is for libraries that put an advice to install in the place of that error.
"""
import _imp
import sys

# what the tree data has by other names than core: tests/integration/test_data.py compares
DATA = frozenset("""
    attr bs4 contourpy ctypes cycler dateutil decorator distutils et_xmlfile fontTools html5lib iniconfig
    jinja2 joblib kiwisolver markupsafe matplotlib mpl_toolkits numpy openpyxl packaging pandas PIL
    pluggy py pylab pyparsing pytest pytz scipy seaborn six sklearn soupsieve ssl tabulate
    threadpoolctl webencodings _ssl
""".split())

# where something that is there can take its place
INSTEAD = {
    "IPython": "display(), get_ipython() and IPython.display are there in sessions",
    "aiohttp": "urllib.request is there", "httpx": "urllib.request is there",
    "requests": "urllib.request is there", "urllib3": "urllib.request is there",
    "duckdb": "use sqlite3", "psycopg2": "use sqlite3", "pymysql": "use sqlite3", "sqlalchemy": "use sqlite3",
    "polars": "the tree data has pandas", "modin": "the tree data has pandas", "dask": "the tree data has pandas",
    "pyarrow": "use CSV or SQLite files", "fastparquet": "use CSV or SQLite files",
    "tables": "use CSV or SQLite files, not HDF5", "h5py": "use CSV or SQLite files, not HDF5",
    "lxml": "xml.etree.ElementTree is there, and html5lib with bs4 in the tree data",
    "xlsxwriter": "the tree data has openpyxl", "xlwt": "the tree data has openpyxl, for .xlsx",
    "xlrd": "the tree data has openpyxl, for .xlsx", "docx": "an .docx is a zip file of XML: use zipfile",
    "yaml": "use json", "simplejson": "use json", "orjson": "use json", "ujson": "use json", "toml": "use tomllib",
    "statsmodels": "the tree data has scipy.stats and sklearn.linear_model",
    "plotly": "the tree data has matplotlib and seaborn", "bokeh": "the tree data has matplotlib and seaborn",
    "altair": "the tree data has matplotlib and seaborn", "plotnine": "the tree data has matplotlib and seaborn",
    "cv2": "the tree data has PIL, numpy and scipy.ndimage", "skimage": "the tree data has PIL and scipy.ndimage",
    "torch": "the tree data has sklearn", "tensorflow": "the tree data has sklearn",
    "xgboost": "sklearn.ensemble is in the tree data", "lightgbm": "sklearn.ensemble is in the tree data",
    "_ssl": "with --allow-host, http:// is sent over TLS", "regex": "use re", "pytz": "use zoneinfo", "attrs": "use dataclasses; attr is in the tree data",
    "psutil": "use resource and os", "tqdm": "print() says how far a loop has come",
    "sympy": "use fractions, decimal and numpy", "gmpy2": "use int, fractions and decimal",
}
# those that no tree could have any use for
NEVER = {
    "pip": "a jail can fetch no packages", "ensurepip": "a jail can fetch no packages",
    "setuptools": "nothing is built in a jail", "venv": "a jail has one Python",
    "pkg_resources": "use importlib.metadata", "lib2to3": "it rewrites Python 2",
    "curses": "a step has no terminal", "readline": "a step has no terminal",
    "tkinter": "a step has no display", "_tkinter": "a step has no display", "turtle": "a step has no display",
    "idlelib": "a step has no display", "_dbm": "dbm.dumb and sqlite3 are there",
    "_gdbm": "dbm.dumb and sqlite3 are there",
}
# those that libraries or models ask for, and that have nothing in their place
OTHERS = frozenset("""
    Crypto Cython absl accelerate anthropic apt astropy bokeh boto3 bottleneck cartopy catboost certifi cffi
    chardet charset_normalizer click cloudpickle cryptography cvxpy dash datasets django docutils dotenv
    faiss fastapi fiona flask folium fsspec gensim geopandas geopy google graphviz gurobipy holoviews
    huggingface_hub hypothesis idna imageio ipykernel ipywidgets jax joypy jsonschema jupyter keras langchain
    loguru markdown missingno mlxtend mock moviepy mpmath msgpack mypy mysql nbformat networkx nltk
    notebook numba numexpr odf odfpy openai optuna ortools osgeo paramiko patsy pdf2image pdfplumber pgmpy
    phonenumbers pingouin pptx prophet pulp pycountry pydantic pydot pygame pygments pymc pymongo pyproj pypdf
    PyPDF2 pyreadstat pyspark pytesseract python_docx qrcode rdkit redis reportlab rich s3fs scikitplot
    selenium sentence_transformers shap shapely spacy squarify streamlit tabula textblob tiktoken tokenizers
    torchaudio torchvision transformers umap uvicorn vaex websockets wheel wordcloud xarray yfinance
    zstandard
""".split())
# by what pip calls them
PACKAGES = {"beautifulsoup4": "bs4", "pillow": "PIL", "scikit-learn": "sklearn", "python-dateutil": "dateutil",
            "opencv-python": "cv2", "pyyaml": "yaml", "pytables": "tables", "python-docx": "docx",
            "scikit-image": "skimage", "python-dotenv": "dotenv", "python-pptx": "pptx", "ipython": "IPython"}
OWN = "a jail can fetch no packages, but a tree of one's own can have it: stepjail-tree(1)"
# what notebooks have; in a session there is as much of it as can be
NOTEBOOK = ("IPython", "matplotlib_inline")

__builtins__ = dict(vars(__import__("builtins")))  # what the functions below look names up in
_modules = sys.modules
_getframe = sys._getframe
_core = not _imp.extension_suffixes()


def is_known(name):
    return name in DATA or name in INSTEAD or name in OTHERS or name in NEVER


def words(name):
    """Why there is no such module, and what to do about it; None where nothing is known."""
    name = PACKAGES.get(name.lower(), name)
    if name in DATA and _core:
        return f"it is in the tree data (--rootfs data), and this is core{also(name)}"
    if name in NEVER:
        return f"{NEVER[name]}, so no tree of Stepjail has it"
    if not is_known(name):
        return None
    return f"no tree of Stepjail has it{also(name)}; {OWN}"


def also(name):
    instead = INSTEAD.get(name)
    if not instead:
        return ""
    if not _core:
        instead = instead.replace("the tree data has ", "there is ").replace(" in the tree data", " there")
    return "; " + instead


def is_import():
    """Does an import ask? importlib.util.find_spec() and others only want to know."""
    frame = _getframe(2)
    while frame and frame.f_code.co_name == "_find_spec":
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name == "_find_and_load_unlocked"


def find_spec(name, path=None, target=None):
    top = name.partition(".")[0]
    if top in NOTEBOOK and "stepjail_runner" in _modules:
        import stepjail_ipython
        return stepjail_ipython.find_spec(name)
    why = words(name) if "." not in name else None
    if why and is_import():
        raise ModuleNotFoundError(f"No module named {name!r}: {why}", name=name)
    return None


def lacked(problem):
    """The first error of ours in what led to this one."""
    for _ in range(20):
        problem = problem.__cause__ or problem.__context__
        if problem is None:
            return None
        name = getattr(problem, "name", None)
        if isinstance(problem, ModuleNotFoundError) and isinstance(name, str) and words(name):
            return words(name), name
    return None


def named(text):
    """A module that a text names and that is not there."""
    import re
    for name in re.findall(r"[A-Za-z_][\w.-]*", text):
        top = PACKAGES.get(name.lower(), name).partition(".")[0]
        if is_known(top) and top not in _modules and (_core or top not in DATA) and top != "pip":
            return words(top), top
    return None


def reworded(text, problem=None):
    """An error's text that advises to install a module, with our words in place of the advice."""
    import re
    advice = r"\b(pip3?|conda|mamba|apt|apt-get)\b|\binstall(ed|ing)?\b|optional dependency"
    if OWN in text or not re.search(advice, text):
        return text
    found = problem is not None and lacked(problem) or named(text)
    if not found:
        return text
    why, name = found
    kept = [part for part in re.split(r"(?<=[.!?:;])\s+|\n+|, (?=please)", text)
            if part and not re.search(r"\b(pip3?|conda|mamba|apt|apt-get)\b|\binstall(ed|ing)?\b", part)]
    text = " ".join(kept).rstrip(" .:;,")
    return f"{text}: {name}: {why}" if text else f"No module named {name!r}: {why}"


def mend(problem):
    """For runner.py, before a traceback is shown."""
    args = problem.args
    if len(args) == 1 and isinstance(args[0], str):
        text = reworded(args[0], problem)
        if text is not args[0]:
            problem.args = (text,)
            if isinstance(problem, ImportError):
                problem.msg = text
