// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The properties of a device's registration that say where it comes from. Immutable; keeps nothing
 * of the device's bundle.
 *
 * @param bundle the id of the bundle that offers it; empty without a framework
 * @param settings its properties as text, but for those that count or name registrations
 */
public record ServiceProperties(OptionalLong bundle, Map<String, String> settings) {
  private static final String BUNDLE = "service.bundleid";

  /** Beginnings of names whose values differ from one start to the next. */
  private static final List<String> PASSING =
      List.of("service.", "component.", "objectclass", "felix.", "event.");

  /** Returns those of a registration. */
  public static ServiceProperties of(Map<String, Object> properties) {
    SortedMap<String, String> settings = new TreeMap<>();
    properties.forEach(
        (name, value) -> {
          if (!isPassing(name.toLowerCase(Locale.ROOT))) {
            settings.put(name, text(value));
          }
        });
    return new ServiceProperties(
        properties.get(BUNDLE) instanceof Long id ? OptionalLong.of(id) : OptionalLong.empty(),
        Collections.unmodifiableSortedMap(settings));
  }

  private static boolean isPassing(String name) {
    for (String beginning : PASSING) {
      if (name.startsWith(beginning)) {
        return true;
      }
    }
    return false;
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
