// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.trace;

import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import jdk.jfr.ValueDescriptor;
import jdk.jfr.consumer.RecordedEvent;

/**
 * One event of the runtime. Immutable.
 *
 * @param type the name of the event without {@code thalamus.}
 * @param start in nanoseconds since an origin that all events of a trace share
 * @param nanos its duration; 0 for a moment
 * @param fields what else it says, by name: strings, numbers, booleans
 */
public record TraceEvent(String type, long start, long nanos, Map<String, Object> fields) {
  /** The beginning of the names of all the runtime's events. */
  public static final String PREFIX = "thalamus.";

  public TraceEvent {
    fields = Map.copyOf(fields);
  }

  /** Returns an event of a recording as one of a trace; empty if it is not one of the runtime. */
  public static Optional<TraceEvent> of(RecordedEvent recorded, Instant origin) {
    String name = recorded.getEventType().getName();
    if (!name.startsWith(PREFIX)) {
      return Optional.empty();
    }
    Map<String, Object> fields = new LinkedHashMap<>();
    for (ValueDescriptor field : recorded.getFields()) {
      Object value = recorded.getValue(field.getName());
      boolean isOwn =
          value instanceof String || value instanceof Number || value instanceof Boolean;
      if (isOwn && !field.getName().equals("startTime") && !field.getName().equals("duration")) {
        fields.put(field.getName(), value);
      }
    }
    return Optional.of(
        new TraceEvent(
            name.substring(PREFIX.length()),
            Duration.between(origin, recorded.getStartTime()).toNanos(),
            recorded.getDuration().toNanos(),
            fields));
  }

  /** Returns when it ended. */
  public long end() {
    return start + nanos;
  }

  /** Returns whether it is of this type. */
  public boolean is(String name) {
    return type.equals(name);
  }

  /** Returns a field as text; empty if it has none of this name. */
  public String text(String field) {
    return String.valueOf(fields.getOrDefault(field, ""));
  }

  /** Returns a field as a number; 0 if it has none of this name. */
  public long number(String field) {
    return fields.get(field) instanceof Number number ? number.longValue() : 0;
  }

  /** Returns whether it takes time: it is a bar in a lane, not a moment. */
  public boolean isSpan() {
    return switch (type) {
      case "Execution", "Step", "Wait", "Preempt", "Prepare", "Partition", "Replan" -> true;
      default -> false;
    };
  }

  /** Returns whether an execution waited then: for a device, or since it stood back for another. */
  public boolean isWait() {
    return is("Wait") || is("Preempt");
  }

  /** Returns whether what it tells did not succeed. */
  public boolean isFailure() {
    String code = text("code");
    return !code.isEmpty() && !code.equals("NO_ERROR");
  }

  /** Returns the process of its lane: a device, or a compilation of an application. */
  public boolean isOnDevice() {
    return fields.containsKey("device") && !is("Fallback") && !isWait();
  }

  /** Returns what its lane is called. */
  public String lane() {
    return isOnDevice() ? text("device") : compilation();
  }

  /** Returns what its compilation is called: model, application and number. */
  public String compilation() {
    return number("compilation") == 0
        ? "planning"
        : text("model") + " #" + number("compilation") + " of " + text("application");
  }

  /** Returns what it is called in its lane. */
  public String name() {
    return switch (type) {
      case "Step" -> text("step");
      case "Prepare" -> "prepare " + text("step");
      case "Execution" -> text("model");
      case "Wait" -> "waits for " + text("device");
      case "Preempt" -> "stands back on " + text("device") + " for " + text("forModel");
      default -> type;
    };
  }
}
