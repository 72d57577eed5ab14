// SPDX-License-Identifier: Apache-2.0
package io.thalamus.launcher;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * The folder the product lives in, as the build wrote it: {@code bin}, {@code bundles}, {@code
 * devices}, {@code samples}, and {@code finished}, whose text changes with every bundle's content.
 * Immutable; reads the folder once.
 *
 * @param home the folder
 * @param id the text of {@code finished}
 * @param bundles every bundle with its start level, devices aside
 * @param devices every device bundle by its short name
 */
record Distribution(Path home, String id, List<Item> bundles, List<Device> devices) {

  /** Start level of what only containers have that stay. */
  static final int INTERACTIVE_LEVEL = 20;

  /** Start level of what only a server has. */
  static final int SERVER_LEVEL = 25;

  /** The devices that are started where none is named, as far as this machine can run them. */
  private static final Set<String> DEFAULT = Set.of("cpu", "simd", "x86");

  record Item(Path file, int level) {
    String location() {
      return "reference:" + file.toUri();
    }
  }

  record Device(String name, Item item) {}

  static Distribution at(Path home) throws IOException {
    List<Item> bundles = new ArrayList<>();
    List<Device> devices = new ArrayList<>();
    for (String line : Files.readAllLines(home.resolve("bin/bundles"))) {
      String[] fields = line.split(" ");
      Item item = new Item(home.resolve(fields[1]), Integer.parseInt(fields[0]));
      if (fields[1].startsWith("devices/")) {
        devices.add(new Device(fields[2].substring(fields[2].lastIndexOf('.') + 1), item));
      } else {
        bundles.add(item);
      }
    }
    String id = Files.readString(home.resolve("bin/id")).strip();
    return new Distribution(home, id, List.copyOf(bundles), List.copyOf(devices));
  }

  /**
   * Returns the items to install for a set of devices: all of them where none was named.
   *
   * @throws Options.UsageException where a device has no bundle here
   */
  List<Item> chosen(Optional<Set<String>> names) throws Options.UsageException {
    Set<String> known = new TreeSet<>();
    devices.forEach(device -> known.add(device.name()));
    for (String name : names.orElse(Set.of())) {
      if (!known.contains(name)) {
        throw new Options.UsageException(
            "--with " + name + ": no such device bundle; there are " + String.join(", ", known));
      }
    }
    List<Item> chosen = new ArrayList<>(bundles);
    for (Device device : devices) {
      if (names.map(set -> set.contains(device.name())).orElse(isDefault(device.name()))) {
        chosen.add(device.item());
      }
    }
    return chosen;
  }

  private static boolean isDefault(String name) {
    return DEFAULT.contains(name);
  }
}
