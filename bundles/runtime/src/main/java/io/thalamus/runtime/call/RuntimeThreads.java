// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Makes the threads of the runtime. Stateless. */
public final class RuntimeThreads {
  private RuntimeThreads() {}

  /**
   * A factory of daemon threads with numbered names. They take over neither class loader nor thread
   * locals of whoever needed them first: that may be a bundle about to leave.
   */
  public static ThreadFactory named(String prefix) {
    AtomicInteger number = new AtomicInteger();
    return task -> {
      Thread thread =
          Thread.ofPlatform()
              .daemon()
              .inheritInheritableThreadLocals(false)
              .name(prefix + number.incrementAndGet())
              .unstarted(task);
      thread.setContextClassLoader(RuntimeThreads.class.getClassLoader());
      return thread;
    };
  }
}
