import java.util.Map;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/**
 * Iceberg's own implementation of its REST protocol, over a SQLite file: Catalog PORT FILE
 * WAREHOUSE S3-ENDPOINT. It says "ready" when it listens.
 */
public class Catalog {
  public static void main(String[] args) throws Exception {
    JdbcCatalog tables = new JdbcCatalog();
    tables.initialize(
        "lake",
        Map.of(
            "uri", "jdbc:sqlite:" + args[1],
            "warehouse", args[2],
            "jdbc.schema-version", "V1",
            "io-impl", "org.apache.iceberg.aws.s3.S3FileIO",
            "s3.endpoint", args[3],
            "s3.path-style-access", "true"));
    ServletContextHandler handler = new ServletContextHandler();
    handler.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(tables))), "/*");
    Server server = new Server(Integer.parseInt(args[0]));
    server.setHandler(handler);
    server.start();
    System.out.println("ready");
    server.join();
  }
}
