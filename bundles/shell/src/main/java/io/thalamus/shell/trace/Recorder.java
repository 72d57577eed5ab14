// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.trace;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import jdk.jfr.Recording;
import jdk.jfr.RecordingState;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/**
 * A recording of the events of the runtime, from its creation until it is closed. Used by one
 * thread, which closes it; the work that it records may be in any thread.
 */
public final class Recorder implements AutoCloseable {
  private static final long MOST_BYTES = 256L << 20;

  private static final long MOST_WAITED_MILLIS = 10_000;

  private final Recording recording = new Recording();
  private final Path file;

  /**
   * Starts to record.
   *
   * @throws IOException if there is no place for a temporary file
   */
  public Recorder() throws IOException {
    file = Files.createTempFile("thalamus-", ".jfr");
    // Its shutdown hook leaves the events there too.
    recording.setDestination(file);
    recording.setDumpOnExit(true);
    // What is beyond that, the oldest, is lost; a trace that large can hardly be looked at.
    recording.setMaxSize(MOST_BYTES);
    recording.setToDisk(true);
    recording.start();
  }

  /** Stops to record and returns what was recorded, by start. */
  public List<TraceEvent> stop() throws IOException {
    recording.stop();
    return read();
  }

  /**
   * Returns what was recorded while the process ends. The recorder's own shutdown hook stops it and
   * removes what it has; a stop at the same time would find that gone.
   */
  public List<TraceEvent> awaitEnd() throws IOException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(MOST_WAITED_MILLIS);
    while (recording.getState() != RecordingState.CLOSED && System.nanoTime() - end < 0) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
    }
    return read();
  }

  private List<TraceEvent> read() throws IOException {
    try {
      List<RecordedEvent> recorded = new ArrayList<>();
      try (RecordingFile events = new RecordingFile(file)) {
        while (events.hasMoreEvents()) {
          RecordedEvent event = events.readEvent();
          if (event.getEventType().getName().startsWith(TraceEvent.PREFIX)) {
            recorded.add(event);
          }
        }
      }
      recorded.sort(Comparator.comparing(RecordedEvent::getStartTime));
      Instant origin = recorded.isEmpty() ? Instant.EPOCH : recorded.getFirst().getStartTime();
      return recorded.stream().flatMap(event -> TraceEvent.of(event, origin).stream()).toList();
    } finally {
      Files.delete(file);
    }
  }

  @Override
  public void close() throws IOException {
    recording.close();
    Files.deleteIfExists(file);
  }
}
