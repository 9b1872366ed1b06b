import jakarta.servlet.DispatcherType;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.FilterHolder;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/**
 * Iceberg's own implementation of its REST protocol, over a SQLite file: Catalog PORT FILE
 * WAREHOUSE PROPERTY=VALUE..., the properties of the storage. It says "ready" when it listens.
 * With tokens.requests=N it serves whoever has a token, given for the credentials "ci:secret" and good
 * for N requests, though it says an hour: the worst kind. It tells each that it gives or refuses.
 */
public class Catalog {
  static class Tokens extends HttpFilter {
    private final Map<String, Integer> left = new ConcurrentHashMap<>();
    private final int good;

    Tokens(int good) {
      this.good = good;
    }

    @Override
    protected void doFilter(HttpServletRequest request, HttpServletResponse reply, FilterChain chain)
        throws IOException, ServletException {
      if (request.getRequestURI().endsWith("/oauth/tokens")) {
        boolean known = "ci".equals(request.getParameter("client_id")) && "secret".equals(request.getParameter("client_secret"));
        String token = UUID.randomUUID().toString();
        reply.setStatus(known ? 200 : 400);
        reply.setContentType("application/json");
        if (known) {
          left.put("Bearer " + token, good);
          System.out.println("given " + token);
        }
        reply.getWriter().print(known
            ? "{\"access_token\":\"" + token + "\",\"token_type\":\"bearer\",\"expires_in\":3600}"
            : "{\"error\":\"invalid_client\"}");
        return;
      }
      String header = String.valueOf(request.getHeader("Authorization"));
      Integer still = left.computeIfPresent(header, (token, n) -> n - 1);
      if (still != null && still >= 0) {
        chain.doFilter(request, reply);
        return;
      }
      System.out.println("refused " + header);
      reply.setStatus(401);
      reply.setContentType("application/json");
      reply.getWriter().print("{\"error\":{\"message\":\"expired\",\"type\":\"NotAuthorizedException\",\"code\":401}}");
    }
  }

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
    if (properties.containsKey("tokens.requests")) {
      handler.addFilter(new FilterHolder(new Tokens(Integer.parseInt(properties.get("tokens.requests")))), "/*", EnumSet.of(DispatcherType.REQUEST));
    }
    Server server = new Server(Integer.parseInt(args[0]));
    server.setHandler(handler);
    server.start();
    System.out.println("ready");
    server.join();
  }
}
