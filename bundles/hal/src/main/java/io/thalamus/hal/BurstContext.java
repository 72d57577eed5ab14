// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import org.osgi.annotation.versioning.ConsumerType;

/** A burst being served. Thread-safe; closing it ends the service. */
@ConsumerType
public interface BurstContext extends AutoCloseable {
  /**
   * Lets go of the memory in a slot, once no execution under way uses it; an unknown slot is
   * ignored.
   */
  void freeMemory(int slot);

  @Override
  void close();
}
