// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import java.util.Optional;
import org.osgi.framework.Bundle;
import org.osgi.framework.FrameworkUtil;

/** The bundles that objects come from. */
public final class Bundles {
  private Bundles() {}

  /** Returns the bundle of an object's class; empty if it has none, or there is no framework. */
  public static Optional<Bundle> of(Object object) {
    try {
      return Optional.ofNullable(FrameworkUtil.getBundle(object.getClass()));
    } catch (NoClassDefFoundError e) {
      // A program that has the runtime as plain classes need not have OSGi's.
      return Optional.empty();
    }
  }
}
