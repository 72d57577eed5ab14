// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.doctor;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import javax.management.JMException;
import javax.management.JMRuntimeException;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;

/**
 * The options that the virtual machine was started with, by its own account; on one that gives
 * none, nothing is known and nothing is held against it. Stateless.
 */
final class Jvm {
  private static final String DIAGNOSTICS = "com.sun.management:type=HotSpotDiagnostic";

  /** Origins of an option that are no brake: the choice of the compiler or of the machine. */
  private static final Set<String> OWN_CHOICE = Set.of("DEFAULT", "ERGONOMIC");

  private static final int BEST_TIER = 4;
  private static final long LITTLE_CODE = 32L << 20;

  private record Option(String value, boolean given) {}

  /** Options that make the compiled code slow, as they would be written. */
  List<String> brakes() {
    List<String> brakes = new ArrayList<>();
    if (System.getProperty("java.vm.info", "").contains("interpreted")) {
      brakes.add("-Xint");
      return brakes;
    }
    long tier = number("TieredStopAtLevel", BEST_TIER);
    if (tier < BEST_TIER) {
      brakes.add("-XX:TieredStopAtLevel=" + tier);
    }
    for (String wanted : new String[] {"UseSuperWord", "Inline", "EnableVectorSupport"}) {
      // Without the vector module the last one is off by itself.
      if (option(wanted).filter(o -> o.given() && o.value().equals("false")).isPresent()) {
        brakes.add("-XX:-" + wanted);
      }
    }
    long code = number("ReservedCodeCacheSize", LITTLE_CODE);
    if (code < LITTLE_CODE) {
      brakes.add("-XX:ReservedCodeCacheSize=" + code);
    }
    return brakes;
  }

  /** The option that lets a debugger in. */
  Optional<String> debugger() {
    return ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
        .filter(option -> option.contains("jdwp"))
        .findFirst();
  }

  /** The longest vectors that the compiler makes, 0 where that is not known. */
  int vectorBits() {
    return Math.toIntExact(number("MaxVectorSize", 0) * Byte.SIZE);
  }

  /** Returns true if their length was chosen by an option. */
  boolean isVectorSizeGiven() {
    return List.of("MaxVectorSize", "UseAVX", "UseSSE", "UseSVE").stream()
        .anyMatch(name -> option(name).filter(Option::given).isPresent());
  }

  private static long number(String name, long otherwise) {
    return option(name).map(option -> Long.parseLong(option.value())).orElse(otherwise);
  }

  /** Asked by name, since the bean's type is no part of Java. */
  private static Optional<Option> option(String name) {
    try {
      Object answer =
          ManagementFactory.getPlatformMBeanServer()
              .invoke(
                  new ObjectName(DIAGNOSTICS),
                  "getVMOption",
                  new Object[] {name},
                  new String[] {String.class.getName()});
      return answer instanceof CompositeData data
          ? Optional.of(
              new Option(
                  String.valueOf(data.get("value")),
                  !OWN_CHOICE.contains(String.valueOf(data.get("origin")))))
          : Optional.empty();
    } catch (JMException | JMRuntimeException notOnThisMachine) {
      return Optional.empty();
    }
  }
}
