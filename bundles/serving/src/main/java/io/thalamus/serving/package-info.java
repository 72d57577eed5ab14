// SPDX-License-Identifier: Apache-2.0
/**
 * Models by name and version, as servers see them, and no protocol: what protocols share.
 *
 * <pre>
 *   oip, grpc  -- InferenceRequest -->  InferenceServer  -- Execution -->  runtime
 *   metrics, dashboard  &lt;-- events --  ServingListener (a service of theirs)
 * </pre>
 */
@Export
@Version("1.0.0")
package io.thalamus.serving;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
