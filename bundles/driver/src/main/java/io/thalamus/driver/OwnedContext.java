// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.BurstContext;
import java.util.concurrent.atomic.AtomicBoolean;

/** A burst with something that is let go once it is closed. Thread-safe; owns the burst. */
final class OwnedContext implements BurstContext {
  private final BurstContext served;
  private final Runnable onClosed;
  private final AtomicBoolean isClosed = new AtomicBoolean();

  OwnedContext(BurstContext served, Runnable onClosed) {
    this.served = served;
    this.onClosed = onClosed;
  }

  @Override
  public void freeMemory(int slot) {
    served.freeMemory(slot);
  }

  @Override
  public void close() {
    if (isClosed.compareAndSet(false, true)) {
      try {
        served.close();
      } finally {
        onClosed.run();
      }
    }
  }
}
