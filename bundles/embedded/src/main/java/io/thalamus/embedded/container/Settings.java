// SPDX-License-Identifier: Apache-2.0
package io.thalamus.embedded.container;

import java.lang.annotation.Annotation;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** Settings in the types that parts declare, as Declarative Services makes them. Stateless. */
final class Settings {
  /** What OSGi's configurations can hold, alone and in arrays and collections. */
  private static final Set<Class<?>> TYPES =
      Set.of(
          String.class,
          Integer.class,
          Long.class,
          Float.class,
          Double.class,
          Byte.class,
          Short.class,
          Character.class,
          Boolean.class);

  private Settings() {}

  /**
   * Returns settings as a part takes them, with the usual values of those that are missing.
   *
   * @param type the annotation type that declares them
   * @throws IllegalArgumentException if a value cannot be taken, with its name
   */
  static <A extends Annotation> A of(Class<A> type, Map<String, ?> settings) {
    Map<String, Object> values = new HashMap<>();
    for (Method method : type.getDeclaredMethods()) {
      Object given = settings.get(method.getName());
      values.put(
          method.getName(),
          given == null
              ? method.getDefaultValue()
              : converted(given, method.getName(), method.getReturnType()));
    }
    Object made =
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (self, method, arguments) -> values.get(method.getName()));
    return type.cast(made);
  }

  /**
   * Returns the setting of this name, or 0 if it is missing. No annotation is made for it, which
   * takes long.
   *
   * @throws IllegalArgumentException if it is no number
   */
  static int number(String name, Map<String, ?> settings) {
    Object given = settings.get(name);
    return given == null ? 0 : (int) converted(given, name, int.class);
  }

  private static Object converted(Object value, String name, Class<?> type) {
    String text = value.toString();
    try {
      return switch (type.getName()) {
        case "int" -> value instanceof Number number ? number.intValue() : Integer.parseInt(text);
        case "long" -> value instanceof Number number ? number.longValue() : Long.parseLong(text);
        case "double" ->
            value instanceof Number number ? number.doubleValue() : Double.parseDouble(text);
        case "java.lang.String" -> text;
        default -> throw new IllegalStateException("no conversion to " + type);
      };
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(name + " is no number: " + text, e);
    }
  }

  /**
   * Checks that a configuration can hold values.
   *
   * @throws IllegalArgumentException with the first that it cannot
   */
  static void check(Collection<?> values) {
    for (Object value : values) {
      if (value instanceof Collection<?> several) {
        check(several);
      } else if (value.getClass().isArray()) {
        for (int i = 0; i < Array.getLength(value); i++) {
          check(Set.of(Array.get(value, i)));
        }
      } else if (!TYPES.contains(value.getClass())) {
        throw new IllegalArgumentException(value + " is of no type that a setting can have");
      }
    }
  }
}
