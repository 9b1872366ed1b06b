import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/**
 * Iceberg's own implementation of its REST protocol, over a SQLite file: Catalog PORT FILE
 * WAREHOUSE PROPERTY=VALUE..., the properties of the storage. It says "ready" when it listens.
 */
public class Catalog {
  public static void main(String[] args) throws Exception {
    Map<String, String> properties = new HashMap<>();
    properties.put("uri", "jdbc:sqlite:" + args[1]);
    properties.put("warehouse", args[2]);
    properties.put("jdbc.schema-version", "V1");
    for (int i = 3; i < args.length; i++) {
      int at = args[i].indexOf('=');
      properties.put(args[i].substring(0, at), args[i].substring(at + 1));
    }
    JdbcCatalog tables = new JdbcCatalog();
    tables.initialize("lake", properties);
    ServletContextHandler handler = new ServletContextHandler();
    handler.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(tables))), "/*");
    Server server = new Server(Integer.parseInt(args[0]));
    server.setHandler(handler);
    server.start();
    System.out.println("ready");
    server.join();
  }
}
