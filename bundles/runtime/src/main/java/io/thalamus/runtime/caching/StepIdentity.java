// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import io.thalamus.hal.PrepareConfig;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.CacheToken;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.Priority;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * All that decides what a device makes of a step: two compilations of the same identity may stand
 * for each other. Immutable; the arrays are not changed.
 *
 * <p>The token is AOSP's first: SHA-256 over the application's token, for each operation of a
 * compound plan its graph and index, the device's name and version, preference and priority. Then
 * come the lengths that AOSP leaves out, and what NNAPI's drivers, frozen into a system image, need
 * not tell apart: the code of the device and of the runtime, the settings of the device, and the
 * model as the device gets it.
 *
 * @param user the application's token
 * @param subgraph the graph of the operations
 * @param operations of a compound plan's step; empty for a whole model, NNAPI's SIMPLE plan
 * @param device which device
 * @param config preference and priority
 * @param code digest of the bundles that the device consists of, and of the runtime's
 * @param settings digest of how the device is configured
 * @param structure digest of the model that the device gets
 */
record StepIdentity(
    CacheToken user,
    int subgraph,
    List<Integer> operations,
    DeviceInfo device,
    PrepareConfig config,
    byte[] code,
    byte[] settings,
    byte[] structure) {
  StepIdentity {
    operations = List.copyOf(operations);
  }

  /** A token that names this identity. */
  CacheToken token() {
    MessageDigest sha = Digests.sha256();
    sha.update(user.toArray());
    for (int operation : operations) {
      sha.update(integer(subgraph));
      sha.update(integer(operation));
    }
    byte[] name = device.name().getBytes(StandardCharsets.UTF_8);
    byte[] version = device.version().getBytes(StandardCharsets.UTF_8);
    sha.update(name);
    sha.update(version);
    sha.update(integer(config.preference().code()));
    sha.update(integer(priority().ndkCode()));
    sha.update(integer(operations.size()));
    sha.update(integer(name.length));
    sha.update(integer(version.length));
    sha.update(code);
    sha.update(settings);
    sha.update(structure);
    return CacheToken.of(sha.digest());
  }

  /** One for all where the device restores for any of them. */
  private Priority priority() {
    return device.cacheSharedByPriorities() ? PrepareConfig.DEFAULT.priority() : config.priority();
  }

  private static byte[] integer(int value) {
    return ByteBuffer.allocate(Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN).putInt(value).array();
  }

  /** Returns the parts of the identity by name, for people who ask why nothing was found. */
  Map<String, String> parts() {
    Map<String, String> parts = new LinkedHashMap<>();
    parts.put("model", user.toString());
    parts.put(
        "operations",
        operations.isEmpty()
            ? "all"
            : operations.stream()
                .map(operation -> subgraph + ":" + operation)
                .collect(Collectors.joining(" ")));
    parts.put(EntryNote.PREFERENCE, config.preference().name());
    parts.put(EntryNote.PRIORITY, priority().name());
    parts.put("structure", HexFormat.of().formatHex(structure));
    parts.putAll(deviceParts(device, code, settings));
    return parts;
  }

  /** Returns the parts that are the same for everything that a device compiles. */
  static Map<String, String> deviceParts(DeviceInfo device, byte[] code, byte[] settings) {
    Map<String, String> parts = new LinkedHashMap<>();
    parts.put(EntryNote.DEVICE, device.name());
    parts.put(EntryNote.VERSION, device.version());
    parts.put("settings", HexFormat.of().formatHex(settings));
    parts.put("code", HexFormat.of().formatHex(code));
    return parts;
  }
}
