// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.queue;

import java.io.IOException;

/**
 * A pair of channels between two threads, through which messages of {@value #WORDS} longs go there
 * and back. Each side is used by one thread at a time; owned by the contest.
 */
interface Echo extends AutoCloseable {
  int WORDS = 4;
  int BYTES = WORDS * Long.BYTES;

  String name();

  /**
   * Sends messages one after the other, each when the one before is back.
   *
   * @return how many came back with other contents
   */
  int ask(int count) throws IOException;

  /** Sends as many messages back. */
  void answer(int count) throws IOException;

  @Override
  void close() throws IOException;
}
