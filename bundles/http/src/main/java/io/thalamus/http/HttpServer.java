// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http;

import java.net.InetSocketAddress;
import java.net.URI;
import java.util.Map;
import org.osgi.annotation.versioning.ProviderType;

/** A server that listens. A service, there until its last connection has ended. Thread-safe. */
@ProviderType
public interface HttpServer {
  /** The property of a service that speaks another protocol over HTTP/2, with its name. */
  String PROTOCOL = "thalamus.protocol";

  /** Returns the address that it listens at, with the port that was found for port 0. */
  InetSocketAddress address();

  /** Returns the beginning of its pages' addresses, without a slash at the end. */
  URI uri();

  /** Returns how many requests it has refused itself, before any route saw them, by the status. */
  default Map<Integer, Long> refusals() {
    return Map.of();
  }

  /**
   * Has clients leave: from now on each answer is the last one of its connection, so that nobody
   * sends a request into a connection that is about to end. New connections are still taken.
   */
  void drain();
}
