// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

/** The JVM's permission to call native functions, which it gives to modules. Stateless. */
public final class NativeAccess {
  private NativeAccess() {}

  /** Returns the option of {@code java} that permits it to a class. */
  public static String option(Class<?> caller) {
    Module module = caller.getModule();
    return "--enable-native-access=" + (module.isNamed() ? module.getName() : "ALL-UNNAMED");
  }
}
