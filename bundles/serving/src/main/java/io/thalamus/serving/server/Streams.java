// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.serving.InferenceRequest;
import io.thalamus.serving.InferenceStream;
import io.thalamus.serving.OpenBurst;
import io.thalamus.serving.PendingInference;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.function.BiFunction;

/** The open streams of a server. Thread-safe. */
final class Streams {
  /** The bursts' threads that there may be; requests of further streams are executed as any. */
  private static final int MOST_LINES = 64;

  private final Set<Stream> open = ConcurrentHashMap.newKeySet();
  private final Semaphore lines = new Semaphore(MOST_LINES);

  /** Opens a stream whose requests are begun by an action. */
  InferenceStream open(BiFunction<InferenceRequest, BurstLine, PendingInference> begin) {
    Stream stream = new Stream(begin);
    open.add(stream);
    return stream;
  }

  /** Returns the bursts that are open. */
  List<OpenBurst> bursts() {
    return open.stream().flatMap(stream -> stream.line.bursts().stream()).toList();
  }

  /** Closes all streams. */
  void close() {
    open.forEach(Stream::close);
  }

  private final class Stream implements InferenceStream {
    private final BiFunction<InferenceRequest, BurstLine, PendingInference> begin;
    private final BurstLine line = new BurstLine(lines);

    Stream(BiFunction<InferenceRequest, BurstLine, PendingInference> begin) {
      this.begin = begin;
    }

    @Override
    public PendingInference infer(InferenceRequest request) {
      return begin.apply(request, line);
    }

    @Override
    public void close() {
      line.close();
      open.remove(this);
    }
  }
}
