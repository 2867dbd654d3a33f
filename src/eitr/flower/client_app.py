"""The ClientApp of the page classifier: trains on the pages of its node, which never leave it."""

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from eitr.errors import InputError
from eitr.flower.exchange import config_of
from eitr.flower.page_sources import classifier_of, named_layers, pages_of_node, seed_of, trained
from eitr.flower.replies import ARRAYS, CONFIG, EXAMPLES, METRICS
from eitr.flower.run_settings import PARTITION, PARTITION_IDENTITY, RunSettings
from eitr.flower.strategy import ROUND, SEED, arrays_of, record_of, vector_of

app = ClientApp()


@app.train()
def train(message: Message, context: Context) -> Message:
    """Train on the node's own pages; reply with the new parameters and the number of pages."""
    settings = RunSettings.read(context.run_config)
    network = classifier_of(settings.model).model.network
    config = config_of(message.content, CONFIG)
    arrays = message.content.get(ARRAYS)
    if not isinstance(arrays, ArrayRecord):
        raise InputError(f"the message has no array record {ARRAYS!r}")
    pages = pages_of_node(settings, context.node_config)
    # A node of a divided data set is known by its place, so that it trains as the same client of the lab does.
    node = context.node_config.get(PARTITION, context.node_id)
    seed = seed_of(int(config[SEED]), int(config[ROUND]), int(node))
    vector = trained(network, vector_of(arrays_of(arrays)), pages, settings, seed)
    metrics = MetricRecord({EXAMPLES: len(pages.labels)})
    if settings.identity == PARTITION_IDENTITY:
        metrics[PARTITION] = int(node)
    reply = RecordDict({ARRAYS: record_of(named_layers(network, vector)), METRICS: metrics})
    return Message(reply, reply_to=message)
