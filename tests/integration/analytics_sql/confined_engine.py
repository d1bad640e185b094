"""Runs SQL in the engine of a ClickHouse data folder, with permissions that the caller chooses.

``python -m tests.integration.analytics_sql.confined_engine FOLDER`` reads JSON from stdin:
``grants`` of the user ``default``, ``definer`` (whether a user with access to all data exists),
``settings`` and ``statements``. The output is JSON: the rows or error code of each statement.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

_USER = (
    "<{name}><password/><profile>default</profile><quota>default</quota>"
    "<networks><ip>::/0</ip></networks><grants>{grants}</grants></{name}>"
)
_CODE = re.compile(r"Code: (\d+)")


def _user(name: str, grants: list[str]) -> str:
    return _USER.format(name=name, grants="".join(f"<query>{each}</query>" for each in grants))


def _answer(connection: Any, statement: str) -> dict[str, str]:
    try:
        return {"rows": connection.query(statement, "TSV").bytes().decode()}
    except RuntimeError as error:
        found = _CODE.search(str(error))
        return {"code": found.group(1) if found else str(error)}


def main() -> None:
    from chdb.state.sqlitelike import Connection

    folder, task = Path(sys.argv[1]), json.load(sys.stdin)
    users, config = folder / "confined-users.xml", folder / "confined.xml"
    users.write_text(
        "<clickhouse><profiles><default/></profiles><quotas><default/></quotas><users>"
        + _user("default", task["grants"])
        + _user("definer", ["GRANT SELECT ON *.*"])
        + "</users></clickhouse>"
    )
    config.write_text(f"<clickhouse><users_config>{users}</users_config></clickhouse>")
    connection = Connection(f"{folder}?config-file={config}")
    if task["settings"]:
        connection.query(f"SET {task['settings']}")
    json.dump([_answer(connection, each) for each in task["statements"]], sys.stdout)


if __name__ == "__main__":
    main()
