// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos.command;

import io.thalamus.chaos.Fault;
import io.thalamus.chaos.FaultRule;
import io.thalamus.chaos.FaultStatus;
import io.thalamus.console.Result;
import io.thalamus.console.text.Style;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The answer of {@code nn:chaos}. Immutable.
 *
 * @param style what the reader understands
 * @param device its short name
 * @param state serving, hung, exhausted or lost
 * @param rules in force, as a script has them
 * @param executions that were asked for, with a fault or not
 * @param injected how often each kind of fault was injected
 * @param hungCalls that stand still now
 * @param refusals that are still to come before there is room again
 */
record ChaosResult(
    Style style,
    String device,
    String state,
    List<String> rules,
    long executions,
    Map<String, Long> injected,
    int hungCalls,
    int refusals)
    implements Result {
  static ChaosResult of(Style style, String device, FaultStatus status) {
    Map<String, Long> injected = new LinkedHashMap<>();
    for (Fault.Kind kind : Fault.Kind.values()) {
      injected.put(kind.name().toLowerCase(Locale.ROOT), status.injected(kind));
    }
    return new ChaosResult(
        style,
        device,
        state(status),
        status.rules().stream().map(FaultRule::toString).toList(),
        status.executions(),
        injected,
        status.hungCalls(),
        status.refusals());
  }

  private static String state(FaultStatus status) {
    if (status.lost()) {
      return "lost";
    }
    if (status.hung()) {
      return "hung";
    }
    return status.exhausted() || status.refusals() > 0 ? "exhausted" : "serving";
  }

  @Override
  public String text() {
    StringBuilder text = new StringBuilder(device).append(" is ").append(state);
    if (hungCalls > 0) {
      text.append("; calls that stand still: ").append(hungCalls);
    }
    if (refusals > 0) {
      text.append("; calls still to refuse: ").append(refusals);
    }
    String label = "\n  rules       ";
    text.append(label)
        .append(rules.isEmpty() ? "none" : String.join("\n" + " ".repeat(14), rules))
        .append("\n  executions  ")
        .append(executions)
        .append("\n  injected    ");
    return text.append(
            injected.entrySet().stream()
                .map(entry -> entry.getKey() + " " + entry.getValue())
                .collect(Collectors.joining(", ")))
        .toString();
  }
}
