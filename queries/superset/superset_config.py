"""A Superset for one person on this machine. For more people follow Superset's own manual: what the
dashboard needs is in databases/spendsync.yaml and requirements.txt."""
import os

HOME = os.environ["SUPERSET_HOME"]
with open(os.path.join(HOME, "secret-key")) as f:
    SECRET_KEY = f.read()
SQLALCHEMY_DATABASE_URI = f"sqlite:///{HOME}/superset.db?check_same_thread=false"
