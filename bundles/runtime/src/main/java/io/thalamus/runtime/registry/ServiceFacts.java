// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * What the registration of a device says of where it comes from. Immutable; keeps nothing of the
 * device's bundle.
 *
 * @param bundle the id of the bundle that offers it; empty without a framework
 * @param settings its properties as text, but for those that count or name registrations
 */
public record ServiceFacts(OptionalLong bundle, Map<String, String> settings) {
  /** Nothing is known. */
  static final ServiceFacts NONE = new ServiceFacts(OptionalLong.empty(), Map.of());

  private static final String BUNDLE = "service.bundleid";

  /** They differ from one start to the next. */
  private static final List<String> PASSING =
      List.of("service.", "component.", "objectclass", "felix.", "event.");

  static ServiceFacts of(Map<String, Object> properties) {
    SortedMap<String, String> settings = new TreeMap<>();
    properties.forEach(
        (name, value) -> {
          if (PASSING.stream().noneMatch(name.toLowerCase(java.util.Locale.ROOT)::startsWith)) {
            settings.put(name, text(value));
          }
        });
    return new ServiceFacts(
        properties.get(BUNDLE) instanceof Long id ? OptionalLong.of(id) : OptionalLong.empty(),
        java.util.Collections.unmodifiableSortedMap(settings));
  }

  private static String text(Object value) {
    if (value == null || !value.getClass().isArray()) {
      return String.valueOf(value);
    }
    // Also for arrays of primitives, which have no common type.
    String nested = Arrays.deepToString(new Object[] {value});
    return nested.substring(1, nested.length() - 1);
  }
}
