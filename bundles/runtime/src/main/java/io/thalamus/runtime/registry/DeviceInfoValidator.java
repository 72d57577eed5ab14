// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.memory.MemoryKind;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.Extensions;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.PerformanceInfo;
import java.util.EnumSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The rules for what a device says of itself: those of NNAPI, and those that AOSP's tests hold
 * devices to. Stateless.
 */
final class DeviceInfoValidator {
  private DeviceInfoValidator() {}

  /** Returns the first fact that is impossible, in words; empty when all are possible. */
  static Optional<String> objection(DeviceInfo info) {
    if (!hasOneDash(info.name())) {
      return Optional.of(
          "its name '" + info.name() + "' must have exactly one dash, and not at an end");
    }
    if (info.version().isBlank()) {
      return Optional.of("its version is empty");
    }
    return memoryObjection(info)
        .or(() -> cacheObjection(info.cacheNeeds()))
        .or(() -> extensionObjection(info))
        .or(() -> costObjection(info.capabilities()));
  }

  private static boolean hasOneDash(String name) {
    int dash = name.indexOf('-');
    return dash > 0
        && dash < name.length() - 1
        && dash == name.lastIndexOf('-')
        && !hasWhitespace(name);
  }

  private static boolean hasWhitespace(String name) {
    for (int i = 0; i < name.length(); i++) {
      if (Character.isWhitespace(name.charAt(i))) {
        return true;
      }
    }
    return false;
  }

  private static Optional<String> memoryObjection(DeviceInfo info) {
    Set<MemoryKind> missing = EnumSet.of(MemoryKind.ASHMEM, MemoryKind.MMAP_FD);
    if (info.featureLevel().isAtLeast(FeatureLevel.V1_3)) {
      missing.add(MemoryKind.HARDWARE_BUFFER_BLOB);
    }
    missing.removeAll(info.memoryKinds());
    return missing.isEmpty()
        ? Optional.empty()
        : Optional.of(
            "it does not read memory of the kind %s, which a driver of HAL %s must"
                .formatted(
                    missing.stream().map(MemoryKind::halName).collect(Collectors.joining(", ")),
                    info.featureLevel().name().substring(1).replace('_', '.')));
  }

  private static Optional<String> cacheObjection(CacheNeeds needs) {
    if (!isPossible(needs.modelCacheFiles()) || !isPossible(needs.dataCacheFiles())) {
      return Optional.of(
          "it asks for %d model and %d data cache files; 0 to %d of each are possible"
              .formatted(needs.modelCacheFiles(), needs.dataCacheFiles(), CacheNeeds.MAX_FILES));
    }
    return Optional.empty();
  }

  private static boolean isPossible(int files) {
    return files >= 0 && files <= CacheNeeds.MAX_FILES;
  }

  private static Optional<String> extensionObjection(DeviceInfo info) {
    for (String name : info.extensions()) {
      if (!Extensions.isName(name)) {
        return Optional.of("its extension '" + name + "' is not a lower-case reverse domain name");
      }
    }
    return Optional.empty();
  }

  private static Optional<String> costObjection(Capabilities capabilities) {
    for (Map.Entry<OperandType, PerformanceInfo> entry :
        capabilities.operandPerformance().entrySet()) {
      if (entry.getKey() == OperandCode.SUBGRAPH) {
        return Optional.of("it declares a cost for SUBGRAPH, which no operation computes on");
      }
      Optional<String> objection = objection(entry.getKey().text(), entry.getValue());
      if (objection.isPresent()) {
        return objection;
      }
    }
    return objection("relaxed scalars", capabilities.relaxedFloat32toFloat16Scalar())
        .or(() -> objection("relaxed tensors", capabilities.relaxedFloat32toFloat16Tensor()))
        .or(() -> objection("IF", capabilities.ifPerformance()))
        .or(() -> objection("WHILE", capabilities.whilePerformance()));
  }

  private static Optional<String> objection(String what, PerformanceInfo cost) {
    return isPossible(cost.execTime()) && isPossible(cost.powerUsage())
        ? Optional.empty()
        : Optional.of(
            "its cost for %s must be positive and finite: time %s, power %s"
                .formatted(what, cost.execTime(), cost.powerUsage()));
  }

  private static boolean isPossible(float cost) {
    return cost > 0 && Float.isFinite(cost);
  }
}
