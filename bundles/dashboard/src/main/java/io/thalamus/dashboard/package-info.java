// SPDX-License-Identifier: Apache-2.0
/**
 * A page that shows what a server of models does now. It changes nothing.
 *
 * <pre>
 *   ServingListener --> Activity: times of the last minute, last executions
 *   models, devices, Activity --> View: the parts of the page as HTML and SVG
 *   GET / --> page, script and style; its script --> GET /dashboard/events: parts that have changed
 * </pre>
 */
package io.thalamus.dashboard;
