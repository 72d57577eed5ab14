// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The resources of one device that are open. Thread-safe. */
final class OpenResources {
  private final Set<DeviceResource> open = new HashSet<>();

  /** The open buffers by token. */
  private final Map<Integer, DeviceMemory> buffers = new ConcurrentHashMap<>();

  private boolean isDrained;

  /** Keeps a resource until it is forgotten; returns false once the device has drained. */
  synchronized boolean keep(DeviceResource resource) {
    // While the device leaves, the departure waits for the call that made it, and closes it then.
    return !isDrained && open.add(resource);
  }

  /** Keeps a buffer by its token too. */
  void register(DeviceMemory memory) {
    buffers.put(memory.token(), memory);
  }

  void forget(DeviceResource resource) {
    if (resource instanceof DeviceMemory memory) {
      buffers.remove(memory.token(), memory);
    }
    synchronized (this) {
      open.remove(resource);
    }
  }

  /** Returns the buffer of a token; null if there is none. */
  DeviceMemory buffer(int token) {
    return buffers.get(token);
  }

  /** Returns those that are open now. */
  synchronized List<DeviceResource> list() {
    return List.copyOf(open);
  }

  /** Keeps nothing from now on. */
  synchronized void drained() {
    isDrained = true;
  }
}
