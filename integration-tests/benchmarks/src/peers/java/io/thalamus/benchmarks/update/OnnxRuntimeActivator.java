// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.update;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;

/**
 * A bundle that runs one inference with ONNX Runtime when it starts, and closes it when it stops.
 */
public final class OnnxRuntimeActivator implements BundleActivator {
  private OrtEnvironment environment;
  private OrtSession session;

  @Override
  public void start(BundleContext context) throws OrtException, IOException {
    environment = OrtEnvironment.getEnvironment();
    try (InputStream model = OnnxRuntimeActivator.class.getResourceAsStream("/model.onnx")) {
      session = environment.createSession(model.readAllBytes());
    }
    try (OnnxTensor input = OnnxTensor.createTensor(environment, new float[] {1, 2, 3});
        OrtSession.Result result = session.run(Map.of("x", input))) {
      float[] sum = (float[]) result.get(0).getValue();
      if (sum[2] != 6) {
        throw new IllegalStateException("3 + 3 = " + sum[2]);
      }
    }
  }

  @Override
  public void stop(BundleContext context) throws OrtException {
    session.close();
    environment.close();
  }
}
