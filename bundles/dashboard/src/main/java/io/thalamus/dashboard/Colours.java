// SPDX-License-Identifier: Apache-2.0
package io.thalamus.dashboard;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** The colours of devices, as classes of the style: a device keeps its own. Thread-safe. */
final class Colours {
  private static final int COUNT = 8;

  private final Map<String, Integer> byDevice = new ConcurrentHashMap<>();
  private final AtomicInteger next = new AtomicInteger();

  String of(String device) {
    if (device.equals("interpreter")) {
      return "flow";
    }
    return "d" + byDevice.computeIfAbsent(device, id -> next.getAndIncrement() % COUNT);
  }
}
