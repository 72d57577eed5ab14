// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.CacheNeeds;
import io.thalamus.hal.DeviceInfo;
import io.thalamus.memory.MemoryKind;
import io.thalamus.model.Capabilities;
import io.thalamus.model.OperandCode;
import io.thalamus.model.PerformanceInfo;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** What a device says of itself, by the rules of the HAL and its vendor tests. */
final class Facts {
  private static final Set<MemoryKind> MANDATORY =
      EnumSet.of(MemoryKind.ASHMEM, MemoryKind.MMAP_FD, MemoryKind.HARDWARE_BUFFER_BLOB);

  private Facts() {}

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
        info.extensions().stream()
            .filter(name -> !name.matches("[a-z0-9_]+(\\.[a-z0-9_]+)+"))
            .toList();
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
            .allMatch(Facts::isPositive);
    findings.check("capabilities", positive, "a time or power is not above 0: " + capabilities);
    findings.check(
        "capabilities of graphs",
        !capabilities.operandPerformance().containsKey(OperandCode.SUBGRAPH),
        "SUBGRAPH has no performance of its own");
  }

  private static boolean isCount(int files) {
    return files >= 0 && files <= CacheNeeds.MAX_FILES;
  }

  private static boolean isPositive(PerformanceInfo info) {
    return info.execTime() > 0 && info.powerUsage() > 0;
  }
}
