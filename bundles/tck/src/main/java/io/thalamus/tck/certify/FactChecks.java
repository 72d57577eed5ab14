// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.DeviceDriver;
import io.thalamus.memory.MemoryKind;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.OperandCode;
import io.thalamus.model.PerformanceInfo;
import java.util.Arrays;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
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
            .allMatch(FactChecks::isPositive);
    findings.check("capabilities", positive, "a time or power is not above 0: " + capabilities);
    findings.check(
        "capabilities of graphs",
        !capabilities.operandPerformance().containsKey(OperandCode.SUBGRAPH),
        "SUBGRAPH has no performance of its own");
    if (!subject.settings().properties().isEmpty()) {
      declared(info).forEach((fact, value) -> declared(subject, findings, fact, value));
    }
  }

  /** The facts as {@link DeviceDriver} declares them, by its members: words, lists sorted. */
  private static Map<String, String> declared(DeviceInfo info) {
    Map<String, String> facts = new TreeMap<>();
    facts.put("device", info.name().substring(info.name().indexOf('-') + 1));
    facts.put("type", info.type().name());
    facts.put("modelCacheFiles", "" + info.cacheNeeds().modelCacheFiles());
    facts.put("dataCacheFiles", "" + info.cacheNeeds().dataCacheFiles());
    facts.put("memoryDomain", "" + info.memoryDomain());
    facts.put("extensions", sorted(info.extensions().stream()));
    facts.put("performance", sorted(performance(info.capabilities())));
    return facts;
  }

  private static Stream<String> performance(Capabilities capabilities) {
    Map<String, PerformanceInfo> all = new TreeMap<>();
    capabilities.operandPerformance().forEach((type, ratio) -> all.put(type.text(), ratio));
    all.put("RELAXED_SCALAR", capabilities.relaxedFloat32toFloat16Scalar());
    all.put("RELAXED_TENSOR", capabilities.relaxedFloat32toFloat16Tensor());
    all.put("IF", capabilities.ifPerformance());
    all.put("WHILE", capabilities.whilePerformance());
    return all.entrySet().stream()
        .filter(entry -> !entry.getValue().equals(PerformanceInfo.UNSUPPORTED))
        .map(
            entry ->
                entry.getKey()
                    + " "
                    + entry.getValue().execTime()
                    + " "
                    + entry.getValue().powerUsage());
  }

  private static String sorted(Stream<String> words) {
    return String.join(
        ", ", words.map(String::strip).filter(word -> !word.isEmpty()).sorted().toList());
  }

  /** A service need not declare a fact; what it declares is true. */
  private static void declared(Subject subject, Findings findings, String fact, String actual) {
    Object value = subject.settings().properties().get(DeviceDriver.PREFIX_ + fact);
    if (value == null) {
      return;
    }
    String stated =
        switch (value) {
          case String[] words -> sorted(Arrays.stream(words));
          case Collection<?> words -> sorted(words.stream().map(String::valueOf));
          default -> sorted(Stream.of(value.toString()));
        };
    findings.check(
        "declared " + fact,
        stated.equals(actual),
        "the service declares "
            + DeviceDriver.PREFIX_
            + fact
            + " as '"
            + stated
            + "', but the device says '"
            + actual
            + "'");
  }

  private static boolean isCount(int files) {
    return files >= 0 && files <= CacheNeeds.MAX_FILES;
  }

  private static boolean isPositive(PerformanceInfo info) {
    return info.execTime() > 0 && info.powerUsage() > 0;
  }
}
