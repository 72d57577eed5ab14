// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A request and the way to answer it, once. Thread-safe. Body and buffers are off the heap, can be
 * accessed by every thread, and are valid until the answer was given; after that they must not be
 * touched. One who learns that the client has left answers too: nothing is sent then, and the
 * memory is freed.
 */
@ProviderType
public interface HttpExchange {
  /** Returns the method. */
  String method();

  /** Returns the path as it came, without the query. */
  String path();

  /** Returns the part of the path that stands for a name of the route. */
  String part(String name);

  /** Returns the first value of a query parameter, decoded. */
  Optional<String> query(String name);

  /** Returns the headers. */
  Headers headers();

  /** Returns the body as it came; empty if there was none. */
  MemorySegment body();

  /** Returns the {@link System#nanoTime} at which the request's first bytes were read. */
  long arrivalNanos();

  /** Returns the identity that a token or a certificate gave; empty without. */
  Optional<String> client();

  /**
   * Has an action run when the client has left before it was answered, at once if it has already.
   * Called in a thread of the server, which must not be kept.
   */
  void onCancel(Runnable action);

  /** Returns memory for a part of the answer: off the heap, aligned by 64 bytes, not zeroed. */
  MemorySegment allocate(long byteSize);

  /**
   * Answers.
   *
   * @param parts the body in order: heap segments, which must not be changed afterwards, or slices
   *     of what {@link #allocate} gave, from its beginning on, which are sent as they are
   */
  void send(int status, Map<String, String> headers, List<MemorySegment> parts);

  /** Answers with a short text. */
  void send(int status, String contentType, String text);

  /** Answers {@code {"error": message}}. */
  void fail(int status, String message, Map<String, String> headers);

  /** Begins an answer that comes in pieces. */
  ResponseStream stream(int status, String contentType);

  /** An answer that comes in pieces. One thread at a time; the client may leave at any time. */
  @ProviderType
  interface ResponseStream extends AutoCloseable {
    /**
     * Sends a piece. Blocks while the client is slow; one that stays slow is dropped.
     *
     * @return false if the client has left or the server stops: nothing more needs to be sent
     */
    boolean write(byte[] bytes) throws InterruptedException;

    /**
     * Sends a server-sent event.
     *
     * @param name may be empty
     * @param data may have several lines
     * @return as {@link #write}
     */
    boolean event(String name, String data) throws InterruptedException;

    /** Ends the answer. */
    @Override
    void close();
  }
}
