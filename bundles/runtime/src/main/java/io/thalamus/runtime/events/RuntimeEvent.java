// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import jdk.jfr.Category;
import jdk.jfr.Event;
import jdk.jfr.StackTrace;

/**
 * An event of the runtime. Used by one thread, from its start until it is committed.
 *
 * <p>Nothing is allocated while nobody records: a subclass asks one instance of its own whether it
 * is enabled before it creates another.
 */
@Category("Thalamus")
@StackTrace(false)
abstract class RuntimeEvent extends Event {
  /**
   * True if events can be written. The recorder adds calls of a package of the JDK to the code of
   * an event, which a framework must leave to the boot loader: without {@code
   * org.osgi.framework.bootdelegation=jdk.jfr.internal.event}, each of them would throw.
   */
  static final boolean IS_SUPPORTED = isSupported();

  private static boolean isSupported() {
    try {
      RuntimeEvent.class.getClassLoader().loadClass("jdk.jfr.internal.event.EventWriter");
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  /** Returns whether somebody records events of this type, and they can be written. */
  final boolean isRecorded() {
    return IS_SUPPORTED && isEnabled();
  }
}
