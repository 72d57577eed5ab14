// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.model;

import io.thalamus.console.text.Units;
import io.thalamus.model.OperationType;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Operations in few words. Stateless. */
public final class OperationList {
  private OperationList() {}

  /** Counts each type: the most frequent first, else in the order of their first use. */
  public static Map<String, Integer> counts(Collection<OperationType> types) {
    Map<String, Integer> counts = new LinkedHashMap<>();
    types.forEach(type -> counts.merge(type.text(), 1, Integer::sum));
    return counts.entrySet().stream()
        .sorted(Map.Entry.<String, Integer>comparingByValue().reversed())
        .collect(
            Collectors.toMap(
                Map.Entry::getKey, Map.Entry::getValue, (a, b) -> a, LinkedHashMap::new));
  }

  /** {@code CONV_2D 9, ADD 3, SOFTMAX}. */
  public static String text(Collection<OperationType> types) {
    return counts(types).entrySet().stream()
        .map(
            entry ->
                entry.getKey() + (entry.getValue() == 1 ? "" : " " + Units.count(entry.getValue())))
        .collect(Collectors.joining(", "));
  }

  /** Indexes in runs: {@code 0-12, 14}. */
  public static String runs(List<Integer> indexes) {
    StringBuilder text = new StringBuilder();
    int i = 0;
    while (i < indexes.size()) {
      int last = i;
      while (last + 1 < indexes.size() && indexes.get(last + 1) == indexes.get(last) + 1) {
        last++;
      }
      text.append(text.isEmpty() ? "" : ", ").append(indexes.get(i));
      if (last > i) {
        text.append('-').append(indexes.get(last));
      }
      i = last + 1;
    }
    return text.toString();
  }
}
