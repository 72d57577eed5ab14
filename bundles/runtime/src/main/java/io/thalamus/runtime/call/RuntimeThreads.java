// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** The source of the runtime's threads. Stateless. */
public final class RuntimeThreads {
  private RuntimeThreads() {}

  /**
   * Returns a factory of daemon threads with numbered names. They take over neither class loader
   * nor thread locals of the first caller, which may belong to a bundle that is about to leave.
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
