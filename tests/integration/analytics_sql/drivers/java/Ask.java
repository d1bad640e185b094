import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;

/** Asks ClickHouse by JDBC with its defaults, as DBeaver and Metabase do. */
public final class Ask {
    /** Arguments: address, user, password. Standard input: statements, each ended by a zero byte. */
    public static void main(String[] arguments) throws Exception {
        Properties given = new Properties();
        given.setProperty("user", arguments[1]);
        given.setProperty("password", arguments[2]);
        String input = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
        StringBuilder answers = new StringBuilder();
        try (Connection connection = DriverManager.getConnection(arguments[0], given)) {
            try (ResultSet tables = connection.getMetaData().getTables(null, null, "analysis%", null)) {
                boolean some = false;
                while (tables.next()) {
                    some |= tables.getString("TABLE_NAME").equals("analysis_recognitions");
                }
                if (!some) {
                    throw new SQLException("the metadata names no analysis_recognitions");
                }
            }
            try (Statement wrong = connection.createStatement()) {
                wrong.executeQuery("SELECT nothing_of_this_name").next();
                throw new IllegalStateException("no error came");
            } catch (SQLException error) {
                if (!String.valueOf(error.getMessage()).contains("nothing_of_this_name")) {
                    throw error;
                }
            }
            for (String statement : input.split("\0")) {
                answers.append(first(connection, statement)).append('\n');
            }
        }
        System.out.print(answers);
    }

    /** Returns the first column of an answer, between tabs. */
    private static String first(Connection connection, String statement) throws SQLException {
        StringBuilder found = new StringBuilder();
        try (Statement asked = connection.createStatement(); ResultSet rows = asked.executeQuery(statement)) {
            int columns = rows.getMetaData().getColumnCount();
            while (rows.next()) {
                for (int number = 1; number <= columns; number++) {
                    rows.getObject(number);
                }
                found.append(rows.getString(1)).append('\t');
            }
        }
        return found.toString();
    }
}
