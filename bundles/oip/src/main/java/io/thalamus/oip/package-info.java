// SPDX-License-Identifier: Apache-2.0
/**
 * The Open Inference Protocol over REST, with Triton's extensions: routes between the HTTP server
 * and the server of models. Values stay where they are: those of a body are read in place, and
 * outputs are written into the answer.
 *
 * <pre>
 *   HttpExchange -- RequestReader, TensorReader --> InferenceRequest --> InferenceServer
 *                &lt;-- ReplyWriter, TensorWriter  --  InferenceResponse
 * </pre>
 */
package io.thalamus.oip;
