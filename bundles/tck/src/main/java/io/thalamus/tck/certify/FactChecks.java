// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.DeviceDriver;
import io.thalamus.memory.MemoryKind;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.Extensions;
import io.thalamus.model.OperandCode;
import io.thalamus.model.PerformanceInfo;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** The facts that a device states, by the rules of the HAL and its vendor tests. */
final class FactChecks {
  private static final Set<MemoryKind> MANDATORY =
      EnumSet.of(MemoryKind.ASHMEM, MemoryKind.MMAP_FD, MemoryKind.HARDWARE_BUFFER_BLOB);

  private FactChecks() {}

  static void run(Subject subject, Findings findings) {
    DeviceInfo info = subject.device().info();
    findings.check("constant", info.equals(subject.device().info()), "two calls of info() differ");
    findings.check(
        "name",
        info.name().matches("[^-]+-[^-]+"),
        "'" + info.name() + "' must have exactly one dash, not at an end");
    findings.check("version", !info.version().isBlank(), "the version is empty");
    CacheNeeds needs = info.cacheNeeds();
    findings.check(
        "cache files",
        isCount(needs.modelCacheFiles()) && isCount(needs.dataCacheFiles()),
        needs + " are not between 0 and " + CacheNeeds.MAX_FILES);
    findings.check(
        "memory kinds",
        info.memoryKinds().containsAll(MANDATORY),
        "it reads " + info.memoryKinds() + ", but must read " + MANDATORY);
    List<String> names =
        info.extensions().stream().filter(name -> !Extensions.isName(name)).toList();
    findings.check(
        "extension names", names.isEmpty(), names + " are no names such as com.example.extension");
    Capabilities capabilities = info.capabilities();
    boolean positive =
        Stream.concat(
                capabilities.operandPerformance().values().stream(),
                Stream.of(
                    capabilities.relaxedFloat32toFloat16Scalar(),
                    capabilities.relaxedFloat32toFloat16Tensor(),
                    capabilities.ifPerformance(),
                    capabilities.whilePerformance()))
            .allMatch(FactChecks::isPositive);
    findings.check("capabilities", positive, "a time or power is not above 0: " + capabilities);
    findings.check(
        "capabilities of graphs",
        !capabilities.operandPerformance().containsKey(OperandCode.SUBGRAPH),
        "SUBGRAPH has no performance of its own");
    declared(subject, findings, "device", info.name().substring(info.name().indexOf('-') + 1));
    declared(subject, findings, "type", info.type().name());
  }

  /** A service need not declare what {@link DeviceDriver} does; what it declares is true. */
  private static void declared(Subject subject, Findings findings, String fact, String actual) {
    String property = DeviceDriver.PREFIX_ + fact;
    Object stated = subject.settings().properties.get(property);
    if (stated != null) {
      findings.check(
          "declared " + fact,
          stated.equals(actual),
          "the service declares %s as '%s', but the device says '%s'"
              .formatted(property, stated, actual));
    }
  }

  private static boolean isCount(int files) {
    return files >= 0 && files <= CacheNeeds.MAX_FILES;
  }

  private static boolean isPositive(PerformanceInfo info) {
    return info.execTime() > 0 && info.powerUsage() > 0;
  }
}
