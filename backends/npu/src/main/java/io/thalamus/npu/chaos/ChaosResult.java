// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.chaos;

import io.thalamus.npu.fault.Fault;
import io.thalamus.npu.fault.FaultRule;
import io.thalamus.npu.fault.FaultStatus;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * What {@code nn:chaos} answers. Immutable; {@link #toString()} is what is printed.
 *
 * @param device its short name
 * @param status what was done to it
 * @param json whether programs will read it
 */
public record ChaosResult(String device, FaultStatus status, boolean json) {
  @Override
  public String toString() {
    return json ? object() : text();
  }

  private String state() {
    if (status.lost()) {
      return "lost";
    }
    if (status.hung()) {
      return "hung";
    }
    return status.exhausted() || status.refusals() > 0 ? "exhausted" : "serving";
  }

  private static String name(Fault.Kind kind) {
    return kind.name().toLowerCase(Locale.ROOT);
  }

  private String text() {
    StringBuilder text = new StringBuilder(device).append(" is ").append(state());
    if (status.hungCalls() > 0) {
      text.append("; calls that stand still: ").append(status.hungCalls());
    }
    if (status.refusals() > 0) {
      text.append("; calls still to refuse: ").append(status.refusals());
    }
    String label = "  rules       ";
    for (FaultRule rule : status.rules()) {
      text.append('\n').append(label).append(rule);
      label = " ".repeat(label.length());
    }
    if (status.rules().isEmpty()) {
      text.append('\n').append(label).append("none");
    }
    text.append("\n  executions  ").append(status.executions()).append("\n  injected    ");
    return text.append(
            Arrays.stream(Fault.Kind.values())
                .map(kind -> name(kind) + " " + status.injected(kind))
                .collect(Collectors.joining(", ")))
        .toString();
  }

  /** No word of a rule or state has a character that JSON would want escaped. */
  private String object() {
    List<String> counts =
        Arrays.stream(Fault.Kind.values())
            .map(kind -> "\"" + name(kind) + "\":" + status.injected(kind))
            .toList();
    return "{\"device\":\"%s\",\"state\":\"%s\",\"rules\":[%s],\"executions\":%d,\"injected\":{%s},"
            .formatted(
                device,
                state(),
                status.rules().stream()
                    .map(rule -> "\"" + rule + "\"")
                    .collect(Collectors.joining(",")),
                status.executions(),
                String.join(",", counts))
        + "\"hungCalls\":%d,\"refusals\":%d}".formatted(status.hungCalls(), status.refusals());
  }
}
