// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.server;

import io.netty.handler.codec.http.QueryStringDecoder;
import io.thalamus.http.Route;
import java.net.URI;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** The routes of all providers, the more exact ones first. Immutable. */
final class Router {
  private final List<Pattern> patterns;

  Router(Collection<Route> routes) {
    patterns =
        routes.stream()
            .map(Pattern::new)
            .sorted(Comparator.comparingInt((Pattern each) -> each.fixed).reversed())
            .toList();
  }

  /**
   * The route of a request.
   *
   * @param route null if there is none for this method
   * @param allowed the methods that there are; empty if the path is unknown
   */
  record Match(Route route, Map<String, String> parts, Set<String> allowed) {}

  /**
   * Finds the route.
   *
   * @param path without its query
   * @throws IllegalArgumentException if the path is not encoded right
   */
  Match match(String method, String path) {
    List<String> parts = split(path);
    String wanted = method.equals("HEAD") ? "GET" : method;
    Set<String> allowed = new TreeSet<>();
    for (Pattern pattern : patterns) {
      if (pattern.matches(parts)) {
        if (pattern.route.method().equals(wanted)) {
          return new Match(pattern.route, pattern.values(parts), Set.of());
        }
        allowed.add(pattern.route.method());
        if (pattern.route.method().equals("GET")) {
          allowed.add("HEAD");
        }
      }
    }
    return new Match(null, Map.of(), allowed);
  }

  /** Returns the decoded parts. A slash at the end says nothing. */
  private static List<String> split(String path) {
    List<String> parts = new ArrayList<>();
    int from = 1;
    while (from < path.length()) {
      int slash = path.indexOf('/', from);
      int end = slash < 0 ? path.length() : slash;
      // In a path a plus is a plus.
      parts.add(QueryStringDecoder.decodeComponent(path.substring(from, end).replace("+", "%2B")));
      from = end + 1;
    }
    return parts;
  }

  private static final class Pattern {
    private final Route route;
    private final List<String> parts;
    private final boolean hasRest;
    private final int fixed;

    private Pattern(Route route) {
      this.route = route;
      parts = route.path().equals("/") ? List.of() : List.of(route.path().substring(1).split("/"));
      hasRest = !parts.isEmpty() && parts.getLast().endsWith("...}");
      fixed = (int) parts.stream().filter(each -> !each.startsWith("{")).count();
    }

    private boolean matches(List<String> others) {
      if (hasRest ? others.size() < parts.size() - 1 : others.size() != parts.size()) {
        return false;
      }
      for (int i = 0; i < (hasRest ? parts.size() - 1 : parts.size()); i++) {
        if (!parts.get(i).startsWith("{") && !parts.get(i).equals(others.get(i))) {
          return false;
        }
      }
      return true;
    }

    private Map<String, String> values(List<String> others) {
      Map<String, String> values = new HashMap<>();
      for (int i = 0; i < parts.size(); i++) {
        String part = parts.get(i);
        if (part.endsWith("...}")) {
          String rest = String.join("/", others.subList(i, others.size()));
          values.put(part.substring(1, part.length() - 4), rest);
        } else if (part.startsWith("{")) {
          values.put(part.substring(1, part.length() - 1), others.get(i));
        }
      }
      return values;
    }
  }

  /** Returns path and query of an address that may name the host too. */
  static String target(String uri) {
    if (uri.startsWith("/")) {
      return uri;
    }
    URI whole = URI.create(uri);
    if (whole.getRawPath() == null || whole.getHost() == null) {
      throw new IllegalArgumentException("it does not begin with a slash");
    }
    String path = whole.getRawPath().isEmpty() ? "/" : whole.getRawPath();
    return whole.getRawQuery() == null ? path : path + "?" + whole.getRawQuery();
  }
}
