// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http;

import java.util.List;
import java.util.Objects;

/**
 * A method and a path, and what answers it. Immutable.
 *
 * @param method GET, POST, PUT or DELETE; a GET answers HEAD too
 * @param path begins with a slash; a part {@code {name}} stands for any one part, which is decoded,
 *     and a last part {@code {name...}} for all that is left. The path with more fixed parts wins
 */
public record Route(String method, String path, Access access, Handler handler) {
  public Route {
    Objects.requireNonNull(method, "method");
    Objects.requireNonNull(access, "access");
    Objects.requireNonNull(handler, "handler");
    if (!path.startsWith("/")) {
      throw new IllegalArgumentException("a path begins with a slash, not as " + path);
    }
  }

  /**
   * Routes of a bundle: the service that the server looks for. A route is reachable until its
   * bundle unregisters it.
   */
  @FunctionalInterface
  public interface Provider {
    /** Returns the routes, always the same. */
    List<Route> routes();
  }

  /** The code of a route. Thread-safe. */
  @FunctionalInterface
  public interface Handler {
    /**
     * Answers a request, now or later. Called in a virtual thread once the whole body is here; long
     * computations belong into threads of their own.
     *
     * @throws HttpException to answer with its status
     * @throws RuntimeException is logged, and answered with 500
     */
    void handle(HttpExchange exchange) throws HttpException, InterruptedException;

    /**
     * Returns the offset in the body that is to lie at a multiple of 64 bytes, so that what is
     * there needs no copy. Called before the body is read.
     */
    default long alignedOffset(Headers headers) {
      return 0;
    }
  }
}
