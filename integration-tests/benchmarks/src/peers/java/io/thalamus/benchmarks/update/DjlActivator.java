// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.update;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;

/** A bundle that adds two arrays with DJL's PyTorch engine when it starts. */
public final class DjlActivator implements BundleActivator {
  @Override
  public void start(BundleContext context) {
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    // DJL looks for its engines there.
    thread.setContextClassLoader(DjlActivator.class.getClassLoader());
    try (NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch")) {
      NDArray array = manager.create(new float[] {1, 2, 3});
      float sum = array.add(array).toFloatArray()[2];
      if (sum != 6) {
        throw new IllegalStateException("3 + 3 = " + sum);
      }
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  @Override
  public void stop(BundleContext context) {
    // All is closed already.
  }
}
