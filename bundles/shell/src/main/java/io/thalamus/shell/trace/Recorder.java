// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.trace;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/**
 * A recording of the events of the runtime, from its creation until it is closed. Used by one
 * thread, which closes it; the work that it records may be in any thread.
 */
public final class Recorder implements AutoCloseable {
  private static final long MOST_BYTES = 256L << 20;

  private final Recording recording = new Recording();

  /** Starts to record. */
  public Recorder() {
    // What is beyond that, the oldest, is lost; a trace that large can hardly be looked at.
    recording.setMaxSize(MOST_BYTES);
    recording.setToDisk(true);
    recording.start();
  }

  /** Stops to record and returns what was recorded, by start. */
  public List<TraceEvent> stop() throws IOException {
    recording.stop();
    Path file = Files.createTempFile("thalamus-", ".jfr");
    try {
      recording.dump(file);
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
  public void close() {
    recording.close();
  }
}
